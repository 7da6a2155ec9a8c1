import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { DelayingProxy } from './delaying-proxy.ts';
import {
  connected,
  digests,
  disconnected,
  entryOf,
  failureOf,
  frameOf,
  lookMs,
  opened,
  reconnected,
  verdictOf,
} from './networks-stage.ts';
import { RedisProcess, withoutRedis } from './redis-process.ts';

/** Sends one command to a server, whatever its role. */
async function command(server: RedisProcess, ...args: string[]): Promise<string> {
  const client = createClient({ url: server.url() });
  await client.connect();
  try {
    return String(await client.sendCommand(args));
  } finally {
    client.destroy();
  }
}

/** Makes a server the replica of another one, with all its keys. */
async function replicate(primary: RedisProcess, replica: RedisProcess): Promise<void> {
  await command(primary, 'CONFIG', 'SET', 'repl-diskless-sync-delay', '0');
  await command(replica, 'REPLICAOF', '127.0.0.1', String(primary.port));
  while (!(await command(replica, 'INFO')).includes('master_link_status:up')) await pause(lookMs);
}

async function promote(replica: RedisProcess): Promise<void> {
  await command(replica, 'REPLICAOF', 'NO', 'ONE');
}

describe('the connection to Redis', { skip: withoutRedis }, async () => {
  if (withoutRedis) return;

  test('after a restart with its file, only what is finished and the verdicts count', async () => {
    const server = await RedisProcess.start('--appendonly', 'yes', '--appendfsync', 'always');
    const pools = await connected({ url: server.url() });
    const list = digests(3);
    await pools.setFilled();
    await pools.lead('t', 3_600_000);
    await pools.claim('t', entryOf('n', list));
    await pools.settle('t', 'a1', verdictOf('n', 3), []);
    await pools.claim('t', entryOf('m', list));
    await pools.submit(frameOf('l', list));
    await pools.finish([list[0]!]);
    const dying = failureOf(pools.link.call(['BLPOP', 'none', '0']));
    await server.stop('SIGKILL');
    await disconnected(pools);
    const failure = await failureOf(pools.marksOf(list));
    assert.equal(failure.code, 'unreachable');
    // The server was connected to, so it is lost, and not one that wants TLS.
    assert.match((await dying).message, /: the connection was closed$/);
    assert.doesNotMatch(failure.message, /TLS/);
    assert.match(
      failure.message,
      new RegExp(`^network berlin: Redis at 127.0.0.1:${server.port}: `),
    );
    await server.start();
    await reconnected(pools);
    assert.deepEqual(await pools.filledBy(), []);
    assert.deepEqual(await pools.openFrames(), []);
    assert.deepEqual(await pools.take(9, 9), { submitted: [], inbox: [] });
    assert.equal(await pools.claim('t', entryOf('n', list)), null);
    assert.equal(await pools.lead('other', 1000), true);
    const [first] = await pools.verdicts('a1', '0', 9);
    assert.deepEqual(first?.verdict, verdictOf('n', 3));
    await pools.setFilled();
    assert.equal(await pools.marksOf(list), 'f00');
  });

  test('after a restart with an old file, the pools are not filled', async () => {
    const server = await RedisProcess.start();
    const pools = await connected({ url: server.url() });
    const list = digests(3);
    await pools.setFilled();
    await pools.finish([list[0]!]);
    await pools.hold([list[1]!]);
    await pools.link.call(['SAVE']);
    // The file has a claim that is released, and lacks one that is finished.
    await pools.release([list[1]!]);
    await pools.finish([list[2]!]);
    await server.stop('SIGKILL');
    await disconnected(pools);
    await server.start();
    await reconnected(pools);
    assert.equal(await pools.marksOf(list), null);
    await pools.setFilled();
    assert.equal(await pools.marksOf(list), 'f00');
  });

  test('after a restart without its file, the pools are not filled', async () => {
    const server = await RedisProcess.start();
    const pools = await connected({ url: server.url() });
    assert.deepEqual(await pools.filledBy(), []);
    await pools.setFilled();
    await pools.finish(digests(1));
    assert.equal(await pools.filledBy(), null);
    await server.stop('SIGKILL');
    await disconnected(pools);
    await server.start();
    await reconnected(pools);
    assert.deepEqual(await pools.filledBy(), []);
    assert.equal(await pools.marksOf(digests(1)), null);
  });

  test('the first attempt fails without a server, and a later one succeeds', async () => {
    const server = await RedisProcess.start();
    await server.stop();
    const { pools, ready } = await opened({ url: server.url() });
    const failure = await failureOf(ready);
    assert.equal(failure.code, 'unreachable');
    assert.match(failure.message, /ECONNREFUSED$/);
    await server.start();
    await reconnected(pools);
    assert.equal((await pools.presence()).hasCentre, false);
  });

  test('an answer that comes late fails its command, and is not taken for another', async () => {
    const server = await RedisProcess.start();
    const proxy = await DelayingProxy.before(server.port);
    const direct = await connected({ url: server.url() });
    const pools = await connected({ url: proxy.url(), timeoutMs: 1500 });
    await direct.setFilled();
    await direct.finish(digests(1));
    await pools.finish([]);
    proxy.hold();
    const failure = await failureOf(pools.marksOf(digests(1)));
    assert.equal(failure.code, 'timeout');
    assert.match(failure.message, /no answer within 1500 ms$/);
    proxy.release();
    await reconnected(pools);
    assert.equal(await pools.marksOf(digests(3)), 'f00');
    assert.equal(proxy.connections, 2);
  });

  test('what a command did without an answer stays, and it may be repeated', async () => {
    const server = await RedisProcess.start();
    const proxy = await DelayingProxy.before(server.port);
    const pools = await connected({ url: proxy.url(), timeoutMs: 1500 });
    await pools.lead('t', 3_600_000);
    proxy.hold();
    const work = failureOf(pools.claim('t', entryOf('n', digests(2))));
    while (proxy.heldCount === 0) await pause(lookMs);
    proxy.cut();
    assert.equal((await work).code, 'unreachable');
    proxy.release();
    await reconnected(pools);
    // NOSCRIPT may have been the answer that was lost.
    await pools.claim('t', entryOf('n', digests(2)));
    assert.equal(await pools.claim('t', entryOf('n', digests(2))), '00');
    assert.equal((await pools.openFrames()).length, 1);
  });

  test('commands without an answer are bounded, and fail together with the connection', async () => {
    const server = await RedisProcess.start();
    const proxy = await DelayingProxy.before(server.port);
    const pools = await connected({ url: proxy.url() });
    proxy.hold();
    const works = Array.from({ length: 1100 }, () => failureOf(pools.presence()));
    const full = await Promise.all(works.slice(1000));
    assert.match(full[0]!.message, /1000 commands wait for answers$/);
    proxy.cut();
    const rest = await Promise.all(works.slice(0, 1000));
    assert.match(rest[0]!.message, /the connection was closed/);
    proxy.release();
    await reconnected(pools);
    assert.equal((await pools.presence()).hasCentre, false);
  });

  test('a server that is stopped fails the attempt in time', async () => {
    const server = await RedisProcess.start();
    server.pause();
    try {
      const { ready, pools } = await opened({ url: server.url(), timeoutMs: 1500 });
      const failure = await failureOf(ready);
      assert.equal(failure.code, 'unreachable');
      assert.match(failure.message, /in time$/);
      pools.close();
    } finally {
      server.resume();
    }
  });

  test('a master that becomes a replica is left until it is master again', async () => {
    const server = await RedisProcess.start();
    const pools = await connected({ url: server.url() });
    const operator = await connected({ url: server.url() });
    await pools.finish(digests(1));
    await operator.link.call(['REPLICAOF', '127.0.0.1', '1']);
    const failure = await failureOf(pools.finish(digests(1)));
    assert.equal(failure.code, 'unreachable');
    assert.match(failure.message, /read-only replica/);
    assert.notEqual(pools.link.failure, null);
    await operator.link.call(['REPLICAOF', 'NO', 'ONE']);
    await reconnected(pools);
    await pools.finish(digests(2));
  });

  test('a replica that is promoted keeps what is finished, and is filled again', async () => {
    const primary = await RedisProcess.start('--repl-diskless-sync-delay', '0');
    const replica = await RedisProcess.start('--replicaof', '127.0.0.1', String(primary.port));
    const proxy = await DelayingProxy.before(primary.port);
    const pools = await connected({ url: proxy.url() });
    const list = digests(4);
    await pools.setFilled();
    await pools.lead('t', 3_600_000);
    await pools.claim('t', entryOf('n', list.slice(2)));
    await pools.settle('t', 'a1', verdictOf('n', 2), []);
    await pools.claim('t', entryOf('m', list));
    await pools.finish([list[0]!]);
    await pools.acquire('paris', [{ host: 'h', delayMs: 0 }], 3_600_000, 'g');
    await pools.link.call(['WAIT', '1', '0']);
    await primary.stop('SIGKILL');
    proxy.turnTo(replica.port);
    while (pools.link.failure?.code !== 'refused') await pause(lookMs);
    assert.match(pools.link.failure.message, /it is a read-only replica; use the address of its/);
    await promote(replica);
    await reconnected(pools);
    assert.equal(await pools.marksOf(list), null);
    assert.deepEqual(await pools.filledBy(), []);
    assert.deepEqual(await pools.openFrames(), []);
    assert.equal(await pools.lead('other', 3_600_000), true);
    assert.equal((await pools.verdicts('a1', '0', 9)).length, 1);
    const [grant] = await pools.acquire('berlin', [{ host: 'h', delayMs: 0 }], 1000, 'g');
    assert.equal(grant!.waitMs, null);
    await pools.setFilled();
    assert.equal(await pools.marksOf(list), 'f000');
  });

  test('a server that is primary again does not trust its earlier pools', async () => {
    const [first, second] = [await RedisProcess.start(), await RedisProcess.start()];
    const proxy = await DelayingProxy.before(first.port);
    const pools = await connected({ url: proxy.url() });
    const list = digests(2);
    await pools.setFilled();
    await pools.hold(list);
    await pools.lead('t', 3_600_000);
    const turns = [
      [first, second],
      [second, first],
    ] as const;
    for (const [from, to] of turns) {
      await replicate(from, to);
      await promote(to);
      proxy.turnTo(to.port);
      await disconnected(pools);
      await reconnected(pools);
      assert.equal(await pools.marksOf(list), null);
      assert.deepEqual(await pools.filledBy(), []);
      assert.equal((await pools.presence()).hasCentre, false);
      await pools.finish([list[0]!]);
    }
    await pools.setFilled();
    assert.equal(await pools.marksOf(list), 'f0');
  });

  test('a full memory fails what is written, with the remedy', async () => {
    const server = await RedisProcess.start();
    const pools = await connected({ url: server.url() });
    await pools.link.call(['CONFIG', 'SET', 'maxmemory', '1']);
    const failure = await failureOf(pools.submit(frameOf('n', digests(1))));
    assert.equal(failure.code, 'failed');
    assert.match(failure.message, /memory is full; raise maxmemory/);
    assert.equal((await pools.presence()).hasCentre, false);
    await pools.link.call(['CONFIG', 'SET', 'maxmemory', '100mb']);
    await pools.submit(frameOf('n', digests(1)));
  });

  test('closed pools fail at once, and connect no more', async () => {
    const server = await RedisProcess.start();
    const pools = await connected({ url: server.url() });
    const work = failureOf(pools.presence());
    pools.close();
    assert.match((await work).message, /closed$/);
    assert.match((await failureOf(pools.presence())).message, /closed$/);
    const { pools: early, ready } = await opened({ url: server.url() });
    early.close();
    await failureOf(ready);
    assert.match((await failureOf(early.presence())).message, /closed$/);
  });
});
