import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProgressMeter } from '../../../../agent/cli/launch/launch-progress.ts';
import { progressBlock, progressLine } from '../../../../agent/cli/launch/progress-view.ts';
import { agentStatus } from '../agent-status.ts';

function alive(part: Parameters<typeof agentStatus>[0]) {
  return { alive: true, status: agentStatus(part) };
}

/** The last ETA after one look every 500 ms, the queue as given. */
function etaAfter(queues: readonly number[]): number | null {
  const meter = new ProgressMeter(true);
  let eta: number | null = null;
  for (const [k, queued] of queues.entries()) eta = meter.at(k * 500, [alive({ queued })]).etaMs;
  return eta;
}

test('progress: sums the living agents; without backups the dead keep their pages', () => {
  const progress = new ProgressMeter(false).at(0, [
    alive({ id: 'a1', hosts: 3, pages: 10, queued: 5, outbox: 2, pagesPerSecond: 1.5 }),
    { alive: false, status: agentStatus({ id: 'a2', hosts: 4, pages: 7, queued: 9 }) },
    { alive: true, status: null },
  ]);
  const { alive: living, total, hosts, pages, queued, pagesPerSecond } = progress;
  assert.deepEqual([living, total, hosts, pages, queued, pagesPerSecond], [2, 3, 3, 17, 7, 1.5]);
});

test('progress: what successors have inherited counts once, and the sum falls with no death', () => {
  const meter = new ProgressMeter(true);
  const dead = { alive: false, status: agentStatus({ id: 'a2', pages: 70 }) };
  const at = (k: number, agents: Parameters<ProgressMeter['at']>[1]) => meter.at(k, agents).pages;
  assert.equal(at(0, [alive({ pages: 100 }), alive({ id: 'a2', pages: 70 })]), 170);
  assert.equal(at(1, [alive({ pages: 101 }), dead]), 170, 'its hosts are not taken over yet');
  assert.equal(at(2, [alive({ pages: 175 }), dead]), 175);
  const begunAnew = [alive({ pages: 20 }), alive({ id: 'a2', pages: 3 })];
  assert.equal(at(3, begunAnew), 23, 'a new round begins with few');
});

test('progress: a queue that shrinks steadily for ten seconds gives a time left', () => {
  const shrinking = Array.from({ length: 30 }, (_, k) => 1000 - 10 * k);
  // 20 a second, 710 left.
  assert.equal(etaAfter(shrinking), 35_500);
});

test('progress: no time left is given before ten seconds, while the queue grows or stands', () => {
  assert.equal(etaAfter(Array.from({ length: 15 }, (_, k) => 1000 - 10 * k)), null);
  assert.equal(etaAfter(Array.from({ length: 60 }, (_, k) => 1000 + k)), null);
  assert.equal(etaAfter(Array.from({ length: 60 }, () => 1000)), null);
});

test('progress: one rise of the queue begins the wait anew', () => {
  const before = Array.from({ length: 40 }, (_, k) => 1000 - 10 * k);
  const after = Array.from({ length: 15 }, (_, k) => 700 - 10 * k);
  assert.equal(etaAfter([...before, ...after]), null);
  const longAfter = Array.from({ length: 25 }, (_, k) => 700 - 10 * k);
  assert.equal(etaAfter([...before, ...longAfter]), 460 * 50);
});

test('progress: the view shows a time left only where there is one', () => {
  const progress = new ProgressMeter(true).at(0, [alive({ hosts: 1200, pages: 3, queued: 4 })]);
  assert.match(progressBlock(progress).join('\n'), /hosts +1,200 known[\s\S]*not known yet/);
  assert.equal(
    progressLine({ ...progress, etaMs: 61_000 }),
    'agents 1/1, hosts 1,200, pages 3 (0.0/s), queue 4, about 1 min 01 s left',
  );
  assert.doesNotMatch(progressLine(progress), /left/);
});

test('progress: hosts that wait for robots.txt are told where there are some', () => {
  const status = { hosts: 12, hostsWithQueue: 3, queued: 16 };
  const at = (part: typeof status & { hostsAwaitingRobots?: number }) =>
    new ProgressMeter(true).at(0, [alive(part), alive({ ...part, hosts: 1000 })]);
  const none = at(status);
  assert.doesNotMatch(progressBlock(none).join() + progressLine(none), /robots/);
  const some = at({ ...status, hostsAwaitingRobots: 2 });
  assert.match(
    progressBlock(some).join('\n'),
    /^hosts {3}1,012 known, 6 with work, 4 waiting for robots.txt$/m,
  );
  assert.match(progressLine(some), /^agents 2\/2, hosts 1,012 \(4 waiting for robots.txt\), pages/);
});
