// Starts of networks in a real Redis: which are refused, and what they leave there.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { connectNetworks } from '../../../agent/composition/network-parts.ts';
import type { Config } from '../../../config/config.ts';
import { loadConfig } from '../../../config/file/load.ts';
import { sharedSettingsOf } from '../../../config/fingerprint.ts';
import { connected } from '../networks/networks-stage.ts';
import { RedisProcess, withoutRedis } from '../networks/redis-process.ts';

const directory = fs.mkdtempSync(join(os.tmpdir(), 'ubiring-networks-'));
const redis = withoutRedis ? null! : await RedisProcess.start();
let crawls = 0;

after(() => fs.rmSync(directory, { recursive: true, force: true }));

interface Choice {
  readonly network?: string;
  readonly leaseMs?: number;
}

/** Configs of one crawl that no other test uses. */
function crawl(): (choice?: Choice) => Config {
  const name = `crawl-${++crawls}`;
  return ({ network = 'paris', leaseMs = 2000 } = {}) => {
    const url = redis.url();
    const dedup = { mode: 'redis', network, networks: { berlin: url, paris: url }, leaseMs };
    const file = join(directory, 'config.json');
    const seeds = ['http://127.0.0.1:1/'];
    const agent = { dataDir: network };
    fs.writeFileSync(
      file,
      JSON.stringify({ name, seeds, agent, dedup: { ...dedup, timeoutMs: 300 } }),
    );
    const loaded = loadConfig(file, { cwd: directory });
    assert.ok(loaded.ok);
    return loaded.config;
  };
}

/** The agent has started; its connection is closed at the end. */
async function started(config: Config) {
  const begun = await connectNetworks(config, {});
  assert.ok(begun.ok && begun.networks, JSON.stringify(begun));
  const { networks } = begun;
  after(() => networks.close());
  return networks;
}

async function refusal(config: Config): Promise<string> {
  const begun = await connectNetworks(config, {});
  assert.ok(!begun.ok);
  return begun.message;
}

/** Pools of the network that the config names. */
function poolsOf(config: Config) {
  const { name, dedup } = config;
  const settings = sharedSettingsOf(config);
  const network = dedup.network!;
  return connected({ url: redis.url(), crawl: name, network, settings });
}

/** What the network of the config runs with, according to its Redis. */
async function told(config: Config): Promise<unknown> {
  const { link, keys } = await poolsOf(config);
  return link.call(['GET', keys.settings]);
}

describe('a start of a network', { skip: withoutRedis }, () => {
  test('that others refuse leaves nothing', async () => {
    const of = crawl();
    const berlin = of({ network: 'berlin' });
    await started(berlin);
    const wrong = of({ leaseMs: 9000 });
    assert.match(await refusal(wrong), /berlin runs with dedup\.leaseMs 2000, this network with 9/);
    assert.equal(await told(wrong), null);
    await started(of());
    await started(berlin);
  });

  test('that its own network refuses leaves the settings of that', async () => {
    const of = crawl();
    const pools = await poolsOf(of());
    await pools.lead('a1.1', 2000);
    const wrong = of({ leaseMs: 9000 });
    const renewal = setInterval(() => void pools.lead('a1.1', 2000), 300);
    try {
      assert.match(await refusal(wrong), /paris runs with dedup\.leaseMs 2000, this network with/);
    } finally {
      clearInterval(renewal);
    }
    assert.equal(await told(of()), sharedSettingsOf(of()));
    await started(of({ network: 'berlin' }));
  });

  test('replaces the settings of agents that have died', async () => {
    const of = crawl();
    await (await poolsOf(of())).lead('a1.1', 2000);
    const changed = of({ leaseMs: 9000 });
    await started(changed);
    assert.equal(await told(changed), sharedSettingsOf(changed));
    assert.equal((await (await poolsOf(changed)).presence()).hasCentre, true, 'before its end');
  });

  test('that ends leaves the settings that another agent has announced', async () => {
    const config = crawl()();
    const [first, second] = [await started(config), await started(config)];
    await first.leave();
    assert.equal(await told(config), sharedSettingsOf(config));
    await second.leave();
    assert.equal(await told(config), null);
    const third = await started(config);
    await (await poolsOf(config)).lead('a1.1', 2000);
    await third.leave();
    assert.equal(await told(config), sharedSettingsOf(config), 'there is a centre');
  });
});
