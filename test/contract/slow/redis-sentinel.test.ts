// Redis Sentinel: three servers say where the master is, and make a replica the master if it fails.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../../bench/ports.ts';
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
import { RedisProcess, withoutRedis } from '../networks/redis-process.ts';
import { startSentinel, untilKnown } from '../networks/redis-sentinel.ts';

const hour = 3_600_000;

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
    await untilKnown(ports, replica.port);
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
    assert.match(message, new RegExp(`127.0.0.1:${port}: it does not know this name`));
    assert.match(message, /start one of these Sentinels, or correct their addresses and the name/);
    const shut = await startSentinel(master.port, 'requirepass secret');
    const asked = await opened({ url: `redis-sentinel://127.0.0.1:${shut}#main`, timeoutMs: 2000 });
    assert.match(
      (await failureOf(asked.ready)).message,
      /requires a password; Sentinels are asked/,
    );
    const tls = `rediss-sentinel://127.0.0.1:${port}#main`;
    const secure = await opened({ url: tls, timeoutMs: 2000 });
    assert.match((await failureOf(secure.ready)).message, /write redis-sentinel:/);
  });
});
