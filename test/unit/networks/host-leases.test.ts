import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { setImmediate as immediately } from 'node:timers/promises';
import { HostLeases } from '../../../agent/networks/host-leases.ts';
import type { HostAsk, HostRelease, Pools } from '../../../agent/networks/pools.ts';
import { assertLinear } from '../../checkers/linear-cost.ts';

const LEASE_MS = 3000;
const AWAY_MS = 2 * LEASE_MS;
const at = (ms: number) => ({ mono: ms, wall: ms });

function subject(leaseMs = LEASE_MS, onTimeout: 'proceed' | 'wait' = 'wait') {
  const log = {
    asks: [] as { hosts: readonly HostAsk[]; grant: string }[],
    releases: [] as HostRelease[],
    woken: [] as string[],
    errors: 0,
    isDown: false,
    /** What Redis answers; an Error: it fails. */
    answer: 0 as number | null | Error,
  };
  const pools = {
    acquire: async (_: string, hosts: readonly HostAsk[], _leaseMs: number, grant: string) => {
      log.asks.push({ hosts, grant });
      const { answer } = log;
      if (answer instanceof Error) throw answer;
      return hosts.map(({ host }) => {
        return { host, waitMs: answer, ...(answer === null && { holder: 'b' }) };
      });
    },
    releaseHosts: async (_: string, hosts: readonly HostRelease[]) => {
      if (log.isDown) throw new Error('refused');
      log.releases.push(...hosts);
    },
  } as unknown as Pools;
  const leases = new HostLeases({
    settings: {
      ...{ network: 'a', networks: ['a'], seeds: 1, onTimeout, timeoutMs: 500, batch: 10 },
      leaseMs,
    },
    ...{ agent: 'a-1', token: 'a-1.1', pools: new Map([['a', pools]]) },
    sha256: (text) => createHash('sha256').update(text).digest('base64url'),
    wake: () => {},
    wakeHost: (host) => log.woken.push(host),
    onError: () => log.errors++,
  });
  /** A turn, the answers of Redis, and the turn that applies them. */
  const turn = async (ms: number, laterMs = ms) => {
    leases.pump(at(ms));
    await immediately();
    leases.pump(at(laterMs));
    await immediately();
  };
  return { leases, log, turn };
}

describe('host leases', () => {
  it('a host waits for its lease and is woken', async () => {
    const { leases, log, turn } = subject();
    assert.deepEqual(leases.enter('h', 100, at(0)), { kind: 'wait', untilMs: null });
    await turn(0);
    assert.deepEqual(log.woken, ['h']);
    assert.deepEqual(leases.enter('h', 100, at(1)), { kind: 'go', isLeased: true });
  });

  it('hosts that ask together share a command', async () => {
    const { leases, log, turn } = subject();
    for (const host of ['g', 'h', 'i']) leases.enter(host, 100, at(0));
    await turn(0);
    assert.equal(log.asks.length, 1);
    assert.equal(log.asks[0]!.hosts.length, 3);
  });

  it('Redis learns at once that a request has made the delay longer', async () => {
    const { leases, log, turn } = subject();
    leases.enter('h', 100, at(0));
    await turn(0);
    leases.ended('h', 50, 100);
    await turn(50);
    assert.equal(log.asks.length, 1);
    leases.ended('h', 60, 30_000);
    assert.ok(leases.nextAtMs(at(60)) <= 60);
    await turn(60);
    leases.ended('h', 70, 200);
    await turn(70 + LEASE_MS / 3);
    const delays = log.asks.map(({ hosts }) => hosts.map(({ delayMs }) => delayMs));
    assert.deepEqual(delays, [[100], [30_000], [200]]);
  });

  it('the wait for the delay counts from when the grant arrived', async () => {
    const { leases, log, turn } = subject();
    log.answer = 50;
    leases.enter('h', 100, at(0));
    await turn(0, 30);
    assert.deepEqual(leases.enter('h', 100, at(79)), { kind: 'wait', untilMs: 80 });
    assert.deepEqual(leases.enter('h', 100, at(80)), { kind: 'go', isLeased: true });
  });

  it('a lease counts from before its command was sent', async () => {
    const { leases, log, turn } = subject();
    leases.enter('h', 100, at(0));
    await turn(0, 900);
    log.answer = new Error('refused');
    await turn(1500);
    assert.equal(leases.mayGoOn('h', at(LEASE_MS - 1)), true);
    assert.equal(leases.mayGoOn('h', at(LEASE_MS)), false);
    assert.ok(log.errors > 0);
  });

  for (const onTimeout of ['proceed', 'wait'] as const) {
    it(`without its home's Redis, a host is visited after two leases or waits: ${onTimeout}`, async () => {
      const { leases, log, turn } = subject(LEASE_MS, onTimeout);
      log.answer = new Error('WRONGPASS');
      leases.enter('h', 100, at(0));
      await turn(0);
      await turn(AWAY_MS - 400);
      assert.deepEqual(leases.enter('h', 100, at(AWAY_MS - 1)).kind, 'wait');
      assert.equal(leases.mayGoOn('h', at(AWAY_MS - 1)), false);
      await turn(AWAY_MS);
      const isAway = onTimeout === 'proceed';
      assert.deepEqual(log.woken, isAway ? ['h'] : []);
      for (const host of ['h', 'i']) {
        const entry = leases.enter(host, 100, at(AWAY_MS));
        const wait = { kind: 'wait', untilMs: null };
        assert.deepEqual(entry, isAway ? { kind: 'go', isLeased: false } : wait);
      }
      assert.equal(leases.mayGoOn('h', at(AWAY_MS)), isAway);
      // The Redis is back, and another network has the hosts.
      log.answer = null;
      await turn(2 * AWAY_MS);
      assert.equal(leases.mayGoOn('h', at(2 * AWAY_MS)), false);
      assert.equal(leases.enter('i', 100, at(2 * AWAY_MS)).kind, 'wait');
    });
  }

  it('a lease is renewed at a third', async () => {
    const { leases, log, turn } = subject();
    leases.enter('h', 100, at(0));
    await turn(0);
    await turn(LEASE_MS / 3 - 1);
    assert.equal(log.asks.length, 1);
    await turn(LEASE_MS / 3);
    assert.equal(log.asks.length, 2);
    assert.equal(leases.mayGoOn('h', at(LEASE_MS + 1)), true);
  });

  it('hosts are asked for in the order of their times, and a failed command is repeated', async () => {
    const { leases, log, turn } = subject();
    for (const [i, host] of ['c', 'a', 'b', 'gone'].entries()) {
      leases.enter(host, 100, at(i));
      await turn(i);
    }
    leases.forget('gone');
    log.asks.length = 0;
    log.answer = new Error('refused');
    await turn(LEASE_MS / 3 + 5);
    log.answer = 0;
    // After the pause that follows a failure.
    await turn(LEASE_MS / 3 + 500);
    const asked = log.asks.map(({ hosts }) => hosts.map(({ host }) => host).join(' '));
    assert.deepEqual(asked, ['c a b', 'c a b']);
    // Each has one place in the order.
    await turn(LEASE_MS / 3 + 600);
    assert.equal(log.asks.length, 2);
    await turn((2 * LEASE_MS) / 3 + 500);
    assert.equal(log.asks.length, 3);
  });

  it('a turn does not look at every lease', () => {
    const work = (count: number) => {
      const { leases } = subject();
      for (let i = 0; i < count; i++) leases.enter(`h${i}`, 100, at(0));
      for (let i = 0; i < count; i++) leases.pump(at(0));
    };
    assertLinear('as many turns as leases', work, 20_000);
  });

  it('a release names its grant and what is left of the delay', async () => {
    const { leases, log, turn } = subject();
    leases.enter('h', 100, at(0));
    await turn(0);
    leases.ended('h', 10, 400);
    leases.leave('h', at(40));
    assert.equal(leases.mayGoOn('h', at(41)), false);
    const sentAtMs = leases.nextAtMs(at(41));
    await turn(sentAtMs);
    const delayMs = 410 - sentAtMs;
    assert.deepEqual(log.releases, [{ host: 'h', delayMs, grant: log.asks[0]!.grant }]);
  });

  it('a release names every command that may have granted the lease', async () => {
    const grantsOf = (hosts: readonly HostRelease[]) => hosts.map(({ grant }) => grant);
    const open = subject();
    open.leases.enter('h', 100, at(0));
    open.leases.pump(at(0));
    open.leases.leave('h', at(1));
    await immediately();
    await open.turn(250);
    assert.deepEqual(grantsOf(open.log.releases), ['a-1.1/1'], 'left before the answer');
    const lost = subject();
    lost.leases.enter('h', 100, at(0));
    await lost.turn(0);
    lost.log.answer = new Error('no answer');
    await lost.turn(LEASE_MS / 3);
    lost.log.answer = 0;
    lost.leases.leave('h', at(LEASE_MS / 3 + 1));
    for (let ms = 1000; ms < 3000; ms += 50) await lost.turn(ms);
    assert.deepEqual(grantsOf(lost.log.releases), ['a-1.1/1', 'a-1.1/2'], 'the answer is lost');
    const answered = subject();
    answered.leases.enter('h', 100, at(0));
    await answered.turn(0);
    await answered.turn(LEASE_MS / 3);
    answered.leases.leave('h', at(LEASE_MS / 3 + 1));
    await answered.turn(LEASE_MS / 3 + 250);
    assert.deepEqual(grantsOf(answered.log.releases), ['a-1.1/2'], 'the earlier one is replaced');
  });

  it('a host that is entered again before its release is sent keeps its lease', async () => {
    const { leases, log, turn } = subject();
    leases.enter('h', 100, at(0));
    await turn(0);
    leases.leave('h', at(10));
    assert.deepEqual(leases.enter('h', 100, at(20)), { kind: 'go', isLeased: true });
    await turn(250);
    assert.deepEqual([log.releases, leases.isQuiet], [[], true]);
    leases.leave('h', at(260));
    log.isDown = true;
    await turn(500);
    // Redis may have got the release.
    assert.equal(leases.enter('h', 100, at(510)).kind, 'wait');
  });

  it('the next network waits for the rest of a delay, even if no request is made here', async () => {
    const { leases, log, turn } = subject();
    log.answer = 2000;
    leases.enter('h', 100, at(0));
    await turn(0);
    leases.leave('h', at(10));
    await turn(250);
    assert.deepEqual(log.releases, [{ host: 'h', delayMs: 1750, grant: 'a-1.1/1' }]);
  });

  it('a release that failed is repeated until its lease ends', async () => {
    for (const [upAtMs, expected] of [
      [1200, 1],
      [LEASE_MS + 1000, 0],
    ] as const) {
      const { leases, log, turn } = subject();
      leases.enter('h', 100, at(0));
      await turn(0);
      leases.leave('h', at(40));
      log.isDown = true;
      for (let ms = 50; ms < upAtMs; ms += 50) await turn(ms);
      assert.deepEqual([log.releases.length, log.errors > 0], [0, true]);
      log.isDown = false;
      for (let ms = upAtMs; ms < upAtMs + 6000; ms += 50) await turn(ms);
      assert.deepEqual([log.releases.length, leases.isQuiet], [expected, true]);
    }
  });

  it('hosts that are left one after the other, and one that is asked for, share a round trip', async () => {
    const { leases, log, turn } = subject();
    for (const host of ['g', 'h', 'i']) leases.enter(host, 100, at(0));
    await turn(0);
    for (const [k, host] of ['g', 'h'].entries()) {
      leases.leave(host, at(10 + k));
      await turn(10 + k);
    }
    assert.deepEqual([log.releases.length, leases.isQuiet], [0, false]);
    leases.enter('j', 100, at(20));
    leases.pump(at(20));
    assert.deepEqual([log.releases.length, log.asks.length, leases.isQuiet], [2, 2, false]);
    await turn(20);
    assert.equal(leases.isQuiet, true);
  });

  it('hosts that wait for other networks are asked for together', async () => {
    const { leases, log, turn } = subject();
    log.answer = null;
    for (const [k, host] of ['g', 'h', 'i'].entries()) {
      leases.enter(host, 100, at(20 * k));
      await turn(20 * k);
    }
    log.asks.length = 0;
    const next = leases.nextAtMs(at(60));
    assert.ok(next > 60 && next <= 310);
    await turn(next);
    assert.deepEqual(
      log.asks.map(({ hosts }) => hosts.length),
      [3],
    );
  });

  it('the fewer hosts an agent has, the more often it asks for those that other networks have', async () => {
    const asks = async (hosts: number) => {
      const { leases, log, turn } = subject(60_000);
      log.answer = null;
      for (let k = 0; k < hosts; k++) leases.enter(`h${k}`, 100, at(0));
      for (let ms = 0; ms < 60_000; ms = Math.max(ms + 1, leases.nextAtMs(at(ms)))) await turn(ms);
      return log.asks.filter(({ hosts }) => hosts.some(({ host }) => host === 'h0')).length;
    };
    const [few, many, most] = [await asks(3), await asks(1100), await asks(2100)];
    assert.ok(few >= 32 && few <= 36, `${few}`);
    assert.ok(many > most && many < few / 2, `${many}`);
    assert.ok(most >= 8 && most <= 13, `${most}`);
  });

  it('tells since when a host waits for its lease, and which network has it', async () => {
    const { leases, log, turn } = subject();
    assert.equal(leases.waitOf('h', at(0)), null);
    leases.enter('h', 100, at(5));
    const lease = { kind: 'lease', sinceMs: 5, home: 'a' };
    assert.deepEqual(leases.waitOf('h', at(6)), { ...lease, holder: null });
    log.answer = null;
    await turn(10);
    assert.deepEqual(leases.waitOf('h', at(11)), { ...lease, holder: 'b' });
    log.answer = 50;
    await turn(300);
    assert.deepEqual(leases.waitOf('h', at(301)), { kind: 'delay', untilMs: 350 });
    assert.equal(leases.waitOf('h', at(350)), null);
    log.answer = null;
    await turn(2000);
    assert.deepEqual(leases.waitOf('h', at(2001)), { ...lease, sinceMs: 2000, holder: 'b' });
  });

  it('the lease of a host that is handed over is not released', async () => {
    const { leases, log, turn } = subject();
    leases.enter('h', 100, at(0));
    await turn(0);
    leases.forget('h');
    await turn(10);
    assert.deepEqual(log.releases, []);
  });

  it('a lease that another network has is asked for again, and ends here', async () => {
    const { leases, log, turn } = subject();
    leases.enter('h', 100, at(0));
    await turn(0);
    log.answer = null;
    await turn(LEASE_MS / 3);
    assert.equal(leases.mayGoOn('h', at(LEASE_MS / 3)), false);
    log.answer = 0;
    await turn(LEASE_MS / 3 + 250);
    assert.deepEqual(leases.enter('h', 100, at(LEASE_MS / 3 + 251)), {
      kind: 'go',
      isLeased: true,
    });
  });
});
