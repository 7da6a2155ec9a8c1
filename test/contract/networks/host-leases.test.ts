import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connected } from './networks-stage.ts';
import { RedisProcess, withoutRedis } from './redis-process.ts';

const hour = 3_600_000;

describe('host leases in Redis', { skip: withoutRedis }, async () => {
  if (withoutRedis) return;
  const server = await RedisProcess.start();
  const pools = await connected({ url: server.url() });
  let hosts = 0;
  const newHost = () => `h${++hosts}.example.org`;
  const wait = async (network: string, host: string, leaseMs = hour, delayMs = 0) =>
    (await pools.acquire(network, [{ host, delayMs }], leaseMs, 'g'))[0]!.waitMs;
  const holder = async (network: string, host: string) =>
    (await pools.acquire(network, [{ host, delayMs: 0 }], hour, 'g'))[0]!.holder;
  const release = (network: string, host: string, delayMs = 0, grant = 'g') =>
    pools.releaseHosts(network, [{ host, delayMs, grant }]);
  const keyOf = (host: string) => `ubiring:{c/berlin}:lease:${host}`;
  const field = async (host: string, name: string) =>
    Number(await pools.link.call(['HGET', keyOf(host), name]));

  /** As if all that happened to the host had happened earlier. */
  async function passed(host: string, ms: number): Promise<void> {
    const fields = (await pools.link.call(['HGETALL', keyOf(host)])) as string[];
    for (let k = 0; k < fields.length; k += 2) {
      const name = fields[k]!;
      if (!/^(until|next|asked:.*)$/.test(name)) continue;
      const value = String(Number(fields[k + 1]) - ms);
      await pools.link.call(['HSET', keyOf(host), name, value]);
    }
  }

  test('one network has a host, and renews its lease', async () => {
    const host = newHost();
    assert.equal(await wait('berlin', host), 0);
    assert.equal(await wait('paris', host), null);
    assert.equal(await wait('berlin', host), 0);
    const before = await field(host, 'until');
    await passed(host, 1000);
    assert.equal(await wait('berlin', host), 0);
    assert.ok((await field(host, 'until')) >= before);
  });

  test('of networks that ask at once, one gets the host', async () => {
    const host = newHost();
    const names = ['berlin', 'paris', 'rome'];
    const others = await Promise.all(names.map(() => connected({ url: server.url() })));
    const asked = others.map((one, k) => one.acquire(names[k]!, [{ host, delayMs: 0 }], hour, 'g'));
    const waits = (await Promise.all(asked)).map(([grant]) => grant!.waitMs);
    assert.deepEqual(waits.toSorted(), [0, null, null]);
  });

  test('the host is handed on in the order in which networks asked', async () => {
    const host = newHost();
    await wait('berlin', host);
    for (const network of ['rome', 'paris', 'rome', 'oslo']) await wait(network, host);
    assert.equal(await holder('oslo', host), 'berlin');
    await release('berlin', host);
    assert.equal(await holder('oslo', host), 'rome');
    assert.equal(await wait('paris', host), null);
    // Also the network that had it must wait now.
    assert.equal(await wait('berlin', host), null);
    assert.equal(await wait('rome', host), 0);
    await release('rome', host);
    assert.equal(await wait('oslo', host), null);
    assert.equal(await wait('paris', host), 0);
    await release('paris', host);
    assert.equal(await wait('oslo', host), 0);
    await release('oslo', host);
    assert.equal(await wait('berlin', host), 0);
  });

  test('the delay after the last request holds between networks', async () => {
    const host = newHost();
    await wait('berlin', host);
    await release('berlin', host, hour);
    const left = await wait('paris', host);
    assert.ok(left !== null && left > hour / 2 && left <= hour, String(left));
    // It holds on if the host is given back unvisited.
    await release('paris', host);
    const still = await wait('berlin', host);
    assert.ok(still !== null && still > hour / 2 && still <= left);
    await release('berlin', host);
    await passed(host, hour);
    assert.equal(await wait('berlin', host), 0);
  });

  test('a network that stops asking loses its place', async () => {
    const host = newHost();
    await wait('berlin', host);
    await wait('rome', host);
    await passed(host, hour - 60_000);
    await wait('paris', host);
    await release('berlin', host);
    assert.equal(await wait('paris', host), null);
    await passed(host, 120_000);
    assert.equal(await wait('paris', host), 0);
    await release('paris', host);
    assert.equal(await pools.link.call(['EXISTS', `ubiring:{c/berlin}:queue:${host}`]), 0);
  });

  test('a lease with another grant is not released', async () => {
    const host = newHost();
    await wait('berlin', host);
    await wait('paris', host);
    await release('berlin', host, 0, 'other');
    await release('paris', host);
    assert.equal(await wait('paris', host), null);
    await release('berlin', host);
    assert.equal(await wait('paris', host), 0);
  });

  test('a lease that is not renewed ends, and the delay counts from its end', async () => {
    for (const [before, after] of [
      [10_000, 0],
      [0, 10_000],
    ] as const) {
      const host = newHost();
      assert.equal(await wait('berlin', host, hour, before), 0);
      await passed(host, hour - 60_000);
      assert.equal(await wait('paris', host, hour, after), null);
      await passed(host, 61_000);
      const left = await wait('paris', host, hour, after);
      assert.ok(left !== null && left > 0 && left <= 9000, String(left));
      // The network that had it before cannot change that.
      assert.equal(await wait('berlin', host), null);
      await release('berlin', host, hour);
      assert.ok(Number(await wait('paris', host)) <= left);
      assert.equal(await wait('rome', host), null);
    }
  });

  test('a clock of Redis that is set back makes no lease and no delay longer', async () => {
    const host = newHost();
    await wait('berlin', host);
    await release('berlin', host, 1000);
    await wait('berlin', host);
    await passed(host, -10 * hour);
    assert.equal(await wait('paris', host), null);
    const left = (await field(host, 'until')) - (await field(host, 'asked:paris'));
    assert.equal(left, hour);
    // It ends although nobody renews it.
    await passed(host, hour);
    const then = await wait('paris', host);
    assert.ok(then !== null && then <= 1000, String(then));
  });

  test('many hosts are acquired in several executions, in their order', async () => {
    const list = Array.from({ length: 1200 }, newHost);
    const asks = list.map((host) => ({ host, delayMs: 0 }));
    await wait('paris', list[700]!);
    await pools.releaseHosts('x', []);
    const before = pools.link.commands;
    const grants = await pools.acquire('berlin', asks, hour, 'g');
    assert.equal(pools.link.commands - before, 3);
    assert.deepEqual(
      grants,
      list.map((host, k) => {
        return k === 700 ? { host, waitMs: null, holder: 'paris' } : { host, waitMs: 0 };
      }),
    );
    await pools.releaseHosts(
      'berlin',
      asks.map((one) => ({ ...one, grant: 'g' })),
    );
    const next = await pools.acquire('rome', asks, hour, 'g');
    assert.deepEqual(
      next.filter(({ waitMs }) => waitMs === null).map(({ host }) => host),
      [list[700]],
    );
  });

  test('keys of leases expire, later than the lease', async () => {
    const host = newHost();
    await wait('berlin', host, 100 * hour);
    await wait('paris', host, 100 * hour);
    for (const key of [keyOf(host), `ubiring:{c/berlin}:queue:${host}`]) {
      assert.ok(Number(await pools.link.call(['PTTL', key])) > 100 * hour, key);
    }
  });

  test('a lease that another program wrote ends after leaseMs, and its delay after a day', async () => {
    const host = newHost();
    const endless = [
      'until',
      '9e15',
      'ms',
      '9e15',
      'next',
      '9e15',
      'wait',
      '9e15',
      'delay',
      '9e15',
    ];
    await pools.link.call(['HSET', keyOf(host), 'holder', 'x', ...endless]);
    assert.equal(await holder('berlin', host), 'x');
    await passed(host, hour + 1000);
    const waitMs = await wait('berlin', host);
    assert.ok(waitMs !== null && waitMs > 0 && waitMs <= 25 * hour, String(waitMs));
  });

  test('a time of a lease that is no number counts as past', async () => {
    const host = newHost();
    await pools.link.call(['HSET', keyOf(host), 'next', 'nan', 'wait', 'nan']);
    assert.equal(await wait('berlin', host), 0);
    await release('berlin', host, 5000);
    assert.ok((await wait('berlin', host))! > 0);
  });
});
