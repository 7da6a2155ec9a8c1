// Starts of networks in a real Redis: which are refused, and what they leave there.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { connectNetworks } from '../../../agent/composition/network-parts.ts';
import { freePorts } from '../../../bench/ports.ts';
import type { Config } from '../../../config/config.ts';
import { loadConfig } from '../../../config/file/load.ts';
import { sharedSettingsOf } from '../../../config/fingerprint.ts';
import { connected } from '../networks/networks-stage.ts';
import { RedisProcess, withoutRedis } from '../networks/redis-process.ts';

const directory = fs.mkdtempSync(join(os.tmpdir(), 'ubiring-networks-'));
const redis = withoutRedis ? null! : await RedisProcess.start();
/** Nothing listens there. */
const ports = await freePorts(2);
let crawls = 0;

after(() => fs.rmSync(directory, { recursive: true, force: true }));

interface Choice {
  readonly network?: string;
  readonly leaseMs?: number;
  readonly dataDir?: string;
}

/** Configs of one crawl that no other test uses. */
function crawl(): (choice?: Choice) => Config {
  const name = `crawl-${++crawls}`;
  return ({ network = 'paris', leaseMs = 2000, dataDir = network } = {}) => {
    const url = redis.url();
    const dedup = { mode: 'redis', network, networks: { berlin: url, paris: url }, leaseMs };
    const file = join(directory, 'config.json');
    const seeds = ['http://127.0.0.1:1/'];
    const agent = { dataDir };
    const cluster = {
      agents: ['a1', 'a2'].map((id, i) => ({ id, listen: `tcp://127.0.0.1:${ports[i]}` })),
    };
    fs.writeFileSync(
      file,
      JSON.stringify({ name, seeds, agent, cluster, dedup: { ...dedup, timeoutMs: 300 } }),
    );
    const loaded = loadConfig(file, { cwd: directory });
    assert.ok(loaded.ok);
    return loaded.config;
  };
}

/** The agent has started; its connection is closed at the end. */
async function started(config: Config) {
  const begun = await connectNetworks(config, {}, ['a1']);
  assert.ok(begun.ok && begun.networks, JSON.stringify(begun));
  const { networks } = begun;
  after(() => networks.close());
  return networks;
}

async function refusal(config: Config): Promise<string> {
  const begun = await connectNetworks(config, {}, ['a1']);
  if (begun.ok) begun.networks?.close();
  assert.ok(!begun.ok);
  return begun.message;
}

/** Pools of the network that the config names. */
function poolsOf(config: Config) {
  const { name, dedup } = config;
  const settings = sharedSettingsOf(config);
  const network = dedup.network!;
  const home = `${os.hostname()}:${config.agent.dataDir}`;
  return connected({ url: redis.url(), crawl: name, network, settings, home });
}

/** What the network of the config runs with, according to its Redis. */
async function told(config: Config): Promise<unknown> {
  const { link, keys } = await poolsOf(config);
  return link.call(['GET', keys.settings]);
}

/** A centre that renews its role until the test ends. */
async function leading(t: TestContext, config: Config): Promise<void> {
  const pools = await poolsOf(config);
  const lead = () => pools.lead('a1.1', config.dedup.leaseMs);
  let last: Promise<unknown> = lead();
  await last;
  const renewal = setInterval(() => {
    last = last.then(lead);
  }, 300);
  t.after(async () => {
    clearInterval(renewal);
    // The connection is closed afterwards.
    await last;
  });
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

  test('that its own network refuses leaves the settings of that', async (t) => {
    const of = crawl();
    await leading(t, of());
    const wrong = of({ leaseMs: 9000 });
    assert.match(await refusal(wrong), /paris runs with dedup\.leaseMs 2000, this network with/);
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

  test('is refused while another cluster has its name', async (t) => {
    const of = crawl();
    await leading(t, of({ dataDir: 'other' }));
    const said = await refusal(of());
    assert.match(
      said,
      /^network paris: Redis at .*: another cluster runs with this network name: /,
    );
    assert.match(
      said,
      /agent "a1" in ".*other" is its centre; give each cluster a 'dedup.network'/,
    );
    assert.equal(await told(of()), sharedSettingsOf(of()));
  });

  test('is not refused in the data directory of the centre', async (t) => {
    const config = crawl()();
    await leading(t, config);
    await started(config);
  });

  test('is not refused if the agent has a state: it has been in this network', async (t) => {
    const of = crawl();
    await leading(t, of({ dataDir: 'other' }));
    const config = of({ dataDir: 'known' });
    const state = join(config.agent.dataDir, 'a1');
    fs.mkdirSync(state, { recursive: true });
    fs.writeFileSync(join(state, 'state.sqlite'), '');
    await started(config);
  });

  test('is not refused while another agent of its config answers', async (t) => {
    const of = crawl();
    await leading(t, of({ dataDir: 'other' }));
    const a2 = net.createServer().listen(ports[1], '127.0.0.1');
    t.after(() => a2.close());
    await once(a2, 'listening');
    await started(of());
  });

  test('is not refused by a centre that has died elsewhere', async () => {
    const of = crawl();
    await (await poolsOf(of({ dataDir: 'other' }))).lead('a1.1', 2000);
    await started(of());
  });
});
