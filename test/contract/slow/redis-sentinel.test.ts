// Redis Sentinel: three servers say where the master is, and make a replica the master if it fails.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '@redis/client';
import {
  connected,
  digests,
  disconnected,
  entryOf,
  failureOf,
  lookMs,
  opened,
  reconnected,
} from '../networks/networks-stage.ts';
import { freePort, RedisProcess, withoutRedis } from '../networks/redis-process.ts';

const hour = 3_600_000;

/** @returns the port of a Sentinel of the server at a port; it runs until the end of the test */
async function startSentinel(master: number): Promise<number> {
  const port = await freePort();
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-sentinel-'));
  const file = path.join(directory, 'sentinel.conf');
  const about = [
    ...[`port ${port}`, 'bind 127.0.0.1', `dir ${directory}`],
    `sentinel monitor main 127.0.0.1 ${master} 2`,
    ...['sentinel down-after-milliseconds main 500', 'sentinel failover-timeout main 2000'],
  ];
  fs.writeFileSync(file, `${about.join('\n')}\n`);
  const child = spawn('redis-server', [file, '--sentinel'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  after(async () => {
    child.kill('SIGKILL');
    await ended;
    // It writes there until it has ended.
    fs.rmSync(directory, { recursive: true, force: true });
  });
  for await (const chunk of child.stdout) if (String(chunk).includes('+monitor master')) break;
  return port;
}

/** Waits until the Sentinel knows the replica and the other Sentinels: it asks now and then. */
async function untilKnown(port: number, replica: number, others: number): Promise<void> {
  const client = createClient({ url: `redis://127.0.0.1:${port}` });
  client.on('error', () => {});
  await client.connect();
  for (;;) {
    const said = await client.sendCommand(['SENTINEL', 'REPLICAS', 'main']);
    const sentinels = (await client.sendCommand(['SENTINEL', 'SENTINELS', 'main'])) as unknown[];
    const isKnown = JSON.stringify(said).includes(`"${replica}"`);
    if (isKnown && sentinels.length === others) break;
    await pause(lookMs);
  }
  client.destroy();
}

describe('pools of a Redis with Sentinels', { skip: withoutRedis }, () => {
  test('the replica that becomes the master is found, and has what was replicated', async () => {
    const master = await RedisProcess.start();
    const replica = await RedisProcess.start('--replicaof', '127.0.0.1', String(master.port));
    const ports = await Promise.all([1, 2, 3].map(() => startSentinel(master.port)));
    const direct = await opened({ url: `redis://127.0.0.1:${ports[0]}` });
    const { message } = await failureOf(direct.ready);
    assert.match(message, /it is a Sentinel; write redis-sentinel:\/\/HOST:PORT/);
    const silent = `127.0.0.1:${await freePort()}`;
    const hosts = [silent, ...ports.map((port) => `127.0.0.1:${port}`)].join(',');
    const url = `redis-sentinel://${hosts}/0#main`;
    const pools = await connected({ url, crawl: 'sentinel', timeoutMs: 2000 });
    const list = digests(9);
    await pools.setFilled();
    await pools.lead('t', hour);
    await pools.claim('t', entryOf('n', list));
    await pools.finish(list.slice(0, 3));
    assert.equal(await pools.marksOf(list), 'fffqqqqqq');
    while ((await pools.link.call(['WAIT', '1', '1000'])) !== 1) await pause(lookMs);
    for (const port of ports) await untilKnown(port, replica.port, ports.length - 1);
    await master.stop('SIGKILL');
    await disconnected(pools);
    await reconnected(pools);
    assert.equal(await pools.marksOf(list), null, 'another process: it must be filled again');
    await pools.setFilled();
    assert.equal(await pools.marksOf(list), 'fff000000', 'finished digests stay valid');
    // The earlier master comes back as a replica.
    await master.start();
    const again = await connected({ url, crawl: 'sentinel', timeoutMs: 2000 });
    assert.equal(await again.marksOf(list), 'fff000000');
  });

  test('a Sentinel that names a server that has ended does not hide the others', async () => {
    const master = await RedisProcess.start();
    const wrong = await startSentinel(await freePort());
    const right = await startSentinel(master.port);
    const { pools, ready } = await opened({
      url: `redis-sentinel://127.0.0.1:${wrong},127.0.0.1:${right}#main`,
      timeoutMs: 2000,
    });
    await failureOf(ready);
    await reconnected(pools);
    await pools.setFilled();
    assert.equal(await pools.filledBy(), null);
  });

  test('what is wrong is named with the remedy', async () => {
    const master = await RedisProcess.start();
    const port = await startSentinel(master.port);
    const silent = await freePort();
    const { ready } = await opened({
      url: `redis-sentinel://127.0.0.1:${silent},127.0.0.1:${port}#other`,
      timeoutMs: 2000,
    });
    const { code, message } = await failureOf(ready);
    assert.equal(code, 'unreachable');
    assert.match(message, new RegExp(`127.0.0.1:${silent}: ECONNREFUSED`));
    assert.match(message, new RegExp(`127.0.0.1:${port}: it does not know it`));
    assert.match(message, /start one of these Sentinels, or correct their addresses and the name/);
  });
});
