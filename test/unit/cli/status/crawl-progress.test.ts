import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProgressMeter } from '../../../../agent/cli/status/crawl-progress.ts';
import { agentStatus } from '../agent-status.ts';
import { networksStatus } from '../networks-status.ts';

function alive(part: Parameters<typeof agentStatus>[0]) {
  return { alive: true, status: agentStatus(part) };
}

/** The last ETA when the queue has these lengths, one measurement every 500 ms. */
function etaAfter(queues: readonly number[]): number | null {
  const meter = new ProgressMeter(true);
  let eta: number | null = null;
  for (const [k, queued] of queues.entries()) eta = meter.at(k * 500, [alive({ queued })]).etaMs;
  return eta;
}

test('progress: sums the live agents; without backups, pages of dead agents count too', () => {
  const progress = new ProgressMeter(false).at(0, [
    alive({ id: 'a1', hosts: 3, pages: 10, queued: 5, outbox: 2, pagesPerSecond: 1.5 }),
    { alive: false, status: agentStatus({ id: 'a2', hosts: 4, pages: 7, queued: 9 }) },
    { alive: true, status: null },
  ]);
  const { alive: living, total, hosts, pages, queued, pagesPerSecond } = progress;
  assert.deepEqual([living, total, hosts, pages, queued, pagesPerSecond], [2, 3, 3, 17, 7, 1.5]);
});

test('progress: counts inherited pages once, and does not fall when an agent dies', () => {
  const meter = new ProgressMeter(true);
  const dead = { alive: false, status: agentStatus({ id: 'a2', pages: 70 }) };
  const at = (k: number, agents: Parameters<ProgressMeter['at']>[1]) => meter.at(k, agents).pages;
  assert.equal(at(0, [alive({ pages: 100 }), alive({ id: 'a2', pages: 70 })]), 170);
  assert.equal(at(1, [alive({ pages: 101 }), dead]), 170, 'its hosts are not taken over yet');
  assert.equal(at(2, [alive({ pages: 175 }), dead]), 175);
  const begunAnew = [alive({ pages: 20 }), alive({ id: 'a2', pages: 3 })];
  assert.equal(at(3, begunAnew), 23, 'a new round begins with few pages');
});

test('progress: an agent that has left counts no more; pages counted twice are forgotten', () => {
  const meter = new ProgressMeter(true);
  const dead = { alive: false, status: agentStatus({ id: 'a2', pages: 70 }) };
  const left = { ...dead, left: true };
  const at = (now: number, agents: Parameters<ProgressMeter['at']>[1]) => meter.at(now, agents);
  at(0, [alive({ pages: 100 }), alive({ id: 'a2', pages: 70 })]);
  const { pages, total } = at(500, [alive({ pages: 168 }), left]);
  assert.deepEqual([pages, total], [168, 1]);
  // A third agent takes hosts of the first one, and for a moment both report their pages.
  assert.equal(at(1000, [alive({ pages: 168 }), alive({ id: 'a3', pages: 90 }), dead]).pages, 258);
  const moved = [alive({ pages: 80 }), alive({ id: 'a3', pages: 91 }), dead];
  assert.equal(at(1500, moved).pages, 258);
  assert.equal(at(62_000, moved).pages, 171);
});

test('progress: counts the pages of hosts that move once', () => {
  const meter = new ProgressMeter(true);
  let now = 0;
  const pagesOf = (...agents: Parameters<ProgressMeter['at']>[1]) => {
    now += 500;
    return meter.at(now, agents).pages;
  };
  const handOff = { given: 1, owed: 0, awaited: 0 };
  const awaiting = { given: 0, owed: 0, awaited: 1 };
  // A resumed crawl: the first agent reports before the second one does.
  const first = { id: 'a1', pages: 100, fetched: 0 };
  assert.equal(pagesOf(alive(first), { alive: true, status: null }), 100);
  assert.equal(pagesOf(alive(first), alive({ id: 'a2', pages: 60, fetched: 10 })), 160);
  // The second agent gives its hosts away, and meanwhile both fetch pages.
  const giving = { id: 'a2', pages: 61, fetched: 11, handOff };
  assert.equal(pagesOf(alive({ ...first, pages: 158, fetched: 3 }), alive(giving)), 164);
  const left = { alive: false, left: true, status: agentStatus(giving) };
  assert.equal(pagesOf(alive({ ...first, pages: 164, fetched: 3 }), left), 164);
  // It starts again, and its state still has the hosts.
  const back = { id: 'a2', pages: 61, fetched: 0 };
  const owner = { ...first, pages: 165, fetched: 4 };
  assert.equal(pagesOf(alive(owner), alive({ ...back, joined: false })), 165);
  assert.equal(pagesOf(alive(owner), alive({ ...back, fetched: 2, handOff: awaiting })), 167);
  assert.equal(pagesOf(alive({ ...owner, pages: 107 }), alive({ ...back, fetched: 2 })), 168);
});

test('progress: estimates the time left after the queue has shrunk for ten seconds', () => {
  const shrinking = Array.from({ length: 30 }, (_, k) => 1000 - 10 * k);
  // 20 URLs per second, 710 left.
  assert.equal(etaAfter(shrinking), 35_500);
});

test('progress: gives no estimate before ten seconds, or if the queue does not shrink', () => {
  assert.equal(etaAfter(Array.from({ length: 15 }, (_, k) => 1000 - 10 * k)), null);
  assert.equal(etaAfter(Array.from({ length: 60 }, (_, k) => 1000 + k)), null);
  assert.equal(etaAfter(Array.from({ length: 60 }, () => 1000)), null);
});

test('progress: a growth of the queue restarts the wait for an estimate', () => {
  const before = Array.from({ length: 40 }, (_, k) => 1000 - 10 * k);
  const after = Array.from({ length: 15 }, (_, k) => 700 - 10 * k);
  assert.equal(etaAfter([...before, ...after]), null);
  const longAfter = Array.from({ length: 25 }, (_, k) => 700 - 10 * k);
  assert.equal(etaAfter([...before, ...longAfter]), 460 * 50);
});

test('progress: the death of an agent, whose queue is missing, restarts the wait for an estimate', () => {
  const meter = new ProgressMeter(true);
  const etaAt = (k: number, isAlive: boolean) =>
    meter.at(k * 500, [
      alive({ queued: 1000 - 10 * k }),
      { alive: isAlive, status: agentStatus({ id: 'a2', queued: 1000 }) },
    ]).etaMs;
  const before = Array.from({ length: 30 }, (_, k) => etaAt(k, true));
  assert.equal(before.at(-1), (1000 + 710) * 50);
  const after = Array.from({ length: 25 }, (_, k) => etaAt(k + 30, false));
  assert.equal(after[0], null);
  assert.equal(after.at(-1), 460 * 50);
});

test('progress: names the networks that are awaited, and gives no estimate then', () => {
  const meter = new ProgressMeter(true);
  const failure = { network: 'rome', message: 'network rome: ECONNREFUSED', forMs: 1, quietMs: 1 };
  const at = (k: number, queued: number, ...parts: Parameters<typeof networksStatus>[0][]) => {
    return meter.at(
      k * 500,
      parts.map((part, a) => alive({ id: `a${a}`, queued, networks: networksStatus(part) })),
    );
  };
  for (let k = 0; k < 30; k++) at(k, 40 - k, {}, {});
  assert.equal(at(30, 2, {}, {}).etaMs! > 0, true, 'work of its own');
  assert.equal(at(31, 1, {}, { failures: [failure] }).etaMs, null, 'a Redis is lost');
  const { etaMs, shared } = at(32, 0, { awaited: ['rome', 'paris'] }, { awaited: ['paris'] });
  assert.equal(etaMs, null);
  assert.deepEqual(shared, { network: 'berlin', awaited: ['paris', 'rome'], lost: new Map() });
  assert.equal('shared' in meter.at(33 * 500, [alive({})]), false);
});
