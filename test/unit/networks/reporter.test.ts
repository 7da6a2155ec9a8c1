import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { setImmediate as immediately } from 'node:timers/promises';
import { digestOf } from '../../../agent/networks/digests.ts';
import type { Digest, Pools } from '../../../agent/networks/pools.ts';
import { Reporter, type ReportStore, type Standing } from '../../../agent/networks/reporter.ts';

const at = (ms: number) => ({ mono: ms, wall: ms });
const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url');

function reporterWith(
  pools: Pools,
  batch: number,
  isIdle: () => boolean,
  standingOf: (identity: string) => Standing = () => 'other',
  more: Partial<ReportStore> = {},
): Reporter {
  return new Reporter({
    settings: {
      ...{ network: 'a', networks: ['a', 'b'], seeds: 1, onTimeout: 'proceed', timeoutMs: 500 },
      ...{ batch, leaseMs: 3000 },
    },
    ...{ agent: 'a-1', token: 'a-1.1', pools: new Map([['a', pools]]), sha256 },
    wake: () => {},
    onError: () => {},
    store: {
      unreported: () => [],
      reported: () => {},
      askAgain: () => {},
      fill: () => ({ finished: [], queued: [], next: null }),
      isIdle,
      ...more,
    },
    standingOf,
  });
}

test('the pools of another server process are filled at once', async () => {
  let isFilled = true;
  const held: Digest[] = [];
  const pools = {
    filledBy: async () => (isFilled ? null : ['a-1 begun']),
    addFilled: async () => {},
    doubted: async () => [],
    lapses: async () => 0,
    hold: async (digests: readonly Digest[]) => void held.push(...digests),
  } as unknown as Pools;
  const fill = () => ({ finished: [], queued: ['http://h.test/'], next: null });
  const reporter = reporterWith(pools, 2, () => false, undefined, { fill });
  const turns = async (ms: number) => {
    for (let k = 0; k < 10; k++) {
      reporter.pump(at(ms));
      await immediately();
    }
  };
  await turns(0);
  isFilled = false;
  await turns(1);
  assert.equal(held.length, 0);
  reporter.serverChanged();
  await turns(2);
  assert.equal(held.length, 1);
});

test('a report that the store does not have is sent again if Redis does not answer', async () => {
  const released: Digest[] = [];
  let isDown = true;
  const pools = {
    filledBy: async () => null,
    doubted: async () => [],
    lapses: async () => 0,
    release: async (digests: readonly Digest[]) => {
      if (isDown) throw new Error('refused');
      released.push(...digests);
    },
  } as unknown as Pools;
  const reporter = reporterWith(pools, 2, () => true);
  const turn = async (ms: number) => {
    reporter.pump(at(ms));
    await immediately();
    reporter.pump(at(ms));
  };
  await turn(0);
  // The verdict of a URL that was given up, and reported, before it was claimed.
  reporter.report([{ identity: 'http://h.test/', kind: 'released' }], at(10));
  await turn(10);
  assert.equal(reporter.isQuiet, false);
  isDown = false;
  for (let ms = 1000; ms < 20_000; ms += 1000) await turn(ms);
  assert.deepEqual(released, [digestOf('http://h.test/', sha256)]);
  assert.equal(reporter.isQuiet, true);
});

/** An agent with two queued URLs, whose pools have these marks; `asked`: those asked about again. */
function withQueue(marks: string | null) {
  const pools = { lapses: 0 as number | null, asked: [] as string[] };
  const own = {
    filledBy: async () => null,
    doubted: async () => [],
    lapses: async () => pools.lapses,
    marksOf: async () => marks,
  } as unknown as Pools;
  const queued = ['http://h.test/1', 'http://h.test/2'];
  const reporter = reporterWith(own, 10, () => true, undefined, {
    askAgain: (identities) => void pools.asked.push(...identities),
    fill: () => ({ finished: [], queued, next: null }),
  });
  const turn = async (mono: number) => {
    for (let i = 0; i < 4; i++) {
      reporter.pump(at(mono));
      await immediately();
    }
    return reporter.hasLooked(at(mono));
  };
  return { pools, queued, reporter, turn };
}

test('hosts are visited while the network has had a centre within leaseMs', async () => {
  const { pools, reporter, turn } = withQueue('qq');
  pools.lapses = null;
  assert.equal(await turn(0), false);
  pools.lapses = 0;
  assert.equal(await turn(100), true);
  assert.equal(reporter.hasLooked(at(3099)), true);
  // The process, or its machine, was stopped.
  assert.equal(reporter.hasLooked(at(3100)), false);
  pools.lapses = null;
  assert.equal(await turn(20_000), false);
  pools.lapses = 0;
  assert.equal(await turn(20_100), true);
  assert.deepEqual(pools.asked, []);
});

test('after a lapse, URLs without claim are asked about again before hosts are visited', async () => {
  const { pools, queued, reporter, turn } = withQueue('0q');
  assert.equal(await turn(0), true, 'without lapse, no claim is looked at');
  pools.lapses = 1;
  reporter.pump(at(3500));
  await immediately();
  assert.equal(reporter.hasLooked(at(3500)), false);
  assert.equal(await turn(3600), true);
  assert.deepEqual(pools.asked, queued.slice(0, 1));
});

test('after a lapse in pools that were lost, all queued URLs are asked about again', async () => {
  const { pools, queued, turn } = withQueue(null);
  pools.lapses = 1;
  assert.equal(await turn(0), true);
  assert.deepEqual(pools.asked, queued);
});

test('reports share a command for three seconds, or for a fifth of one without other work', async () => {
  const sent: [number, number][] = [];
  let [mono, isIdle] = [0, false];
  const pools = {
    filledBy: async () => null,
    doubted: async () => [],
    lapses: async () => 0,
    finish: async (digests: readonly Digest[]) => void sent.push([mono, digests.length]),
  } as unknown as Pools;
  const reporter = reporterWith(pools, 10, () => isIdle);
  for (; mono < 10_000; mono += 100) {
    reporter.pump(at(mono));
    for (let i = 0; i < 3; i++) await immediately();
    if (mono === 6000) isIdle = true;
    if (mono === 1000 || mono === 2000 || mono === 7000 || mono === 7100) {
      reporter.report([{ identity: `http://h.test/${mono}`, kind: 'finished' }], at(mono));
    }
  }
  assert.deepEqual(sent, [
    [4000, 2],
    [7200, 2],
  ]);
});

test('a hurry lasts for one turn: an agent that was about to end may go on', async () => {
  const sent: number[] = [];
  let mono = 0;
  const pools = {
    filledBy: async () => null,
    doubted: async () => [],
    lapses: async () => 0,
    finish: async () => void sent.push(mono),
  } as unknown as Pools;
  const reporter = reporterWith(pools, 10, () => false);
  for (; mono < 6000; mono += 100) {
    reporter.pump(at(mono));
    for (let i = 0; i < 3; i++) await immediately();
    if (mono === 1000 || mono === 2000) {
      reporter.report([{ identity: `http://h.test/${mono}`, kind: 'finished' }], at(mono));
    }
    if (mono === 1000) reporter.hurry();
  }
  assert.deepEqual(sent, [1100, 5000]);
});

test("a release is sent unless the URL is queued again, or fetched, or its host is another agent's", async () => {
  const released: Digest[] = [];
  const pools = {
    filledBy: async () => null,
    doubted: async () => [],
    lapses: async () => 0,
    release: async (digests: readonly Digest[]) => void released.push(...digests),
  } as unknown as Pools;
  const standings = new Map<string, Standing>([
    ['http://h.test/again', 'queued'],
    ['http://h.test/fetched', 'finished'],
    ['http://h.test/away', 'moved'],
    ['http://h.test/given-up', 'other'],
  ]);
  const reporter = reporterWith(
    pools,
    10,
    () => true,
    (identity) => standings.get(identity)!,
  );
  for (const identity of standings.keys()) reporter.report([{ identity, kind: 'released' }], at(0));
  for (let ms = 0; ms < 1000; ms += 100) {
    reporter.pump(at(ms));
    for (let i = 0; i < 3; i++) await immediately();
  }
  assert.deepEqual(released, [digestOf('http://h.test/given-up', sha256)]);
  assert.equal(reporter.isQuiet, true);
});

test('the claim that another network doubts ends with a report, unless the URL is queued', async () => {
  const told: string[] = [];
  const standings: Standing[] = ['queued', 'finished', 'other', 'moved'];
  const pools = {
    filledBy: async () => null,
    doubted: async () => standings,
    lapses: async () => 0,
    finish: async (digests: readonly Digest[]) => void told.push('finish', ...digests),
    release: async (digests: readonly Digest[]) => void told.push('release', ...digests),
    examined: async (identities: readonly string[]) => void told.push(...identities),
  } as unknown as Pools;
  const reporter = reporterWith(
    pools,
    10,
    () => true,
    (identity) => identity as Standing,
  );
  for (let ms = 0; ms < 1000; ms += 100) {
    reporter.pump(at(ms));
    for (let i = 0; i < 3; i++) await immediately();
  }
  const digest = (identity: string) => digestOf(identity, sha256);
  const expected = ['finish', digest('finished'), 'release', digest('other')];
  assert.deepEqual(told.slice(0, 7), [...expected, 'queued', 'finished', 'other']);
});
