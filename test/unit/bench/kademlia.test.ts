import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message } from '../../../agent/core/protocol/messages.ts';
import { hasAny, siblingOf } from '../../../agent/kademlia/routing/contact.ts';
import { leavesOf, membersOf, neighboursOf } from '../../../bench/kademlia-bare.ts';
import { LookupWatch } from '../../../bench/kademlia-lookups.ts';
import { knownTo } from '../../../bench/kademlia-restart.ts';
import { leastSquares } from '../../../bench/least-squares.ts';
import { scatterChart } from '../../../bench/scatter-chart.ts';
import { Random } from '../../simulation/random.ts';

test('least squares: finds the line that all points are on', () => {
  const line = leastSquares([
    [1, 5],
    [2, 7],
    [3, 9],
  ]);
  assert.deepEqual([line.slope, line.intercept, line.rSquared.toFixed(9)], [2, 3, '1.000000000']);
});

test('least squares: explains nothing of points without a trend', () => {
  const line = leastSquares([
    [1, 0],
    [2, 3],
    [3, 0],
  ]);
  assert.deepEqual([line.slope, line.intercept, line.rSquared], [0, 1, 0]);
  assert.ok(Number.isNaN(leastSquares([[1, 1]]).slope));
});

test('scatter chart: shows each point and the equation of its line', () => {
  const points = [[1, 5] as const, [2, 7] as const];
  const line = leastSquares(points);
  const svg = scatterChart({ title: 'a < b', x: 'agents', y: 'pages/s', points, line });
  assert.equal(svg.match(/<circle/g)?.length, 2);
  assert.match(svg, /y = 2\.00 x \+ 3\.00, R² = 1\.000/);
  assert.match(svg, /a &lt; b/);
});

/** Distances of the agents, which are named by them. */
const watchOf = () => new LookupWatch((_, id) => BigInt(id));
const about = { capacity: 1, address: 'h:1', fingerprintHash: 'same' };
const ask = (key: string): Message => ({ type: 'FIND_NODE', key, ...about });
const answer = (key: string, ...ids: string[]): Message => {
  const agents = ids.map((id) => ({ id, inc: 1, capacity: 1, address: `${id}:1` }));
  return { type: 'FOUND_NODES', key, agents, ...about };
};

test('look-ups seen: the hops are the answers on the way to the nearest agent', () => {
  const watch = watchOf();
  watch.sent('0', '9', ask('k'));
  watch.sent('9', '0', answer('k', '5'));
  watch.sent('0', '5', ask('k'));
  watch.sent('5', '0', answer('k', '9', '3', '1'));
  watch.sent('0', '3', ask('k'));
  watch.sent('0', '1', ask('k'));
  watch.sent('3', '0', answer('k'));
  // The nearest does not answer.
  const [one, ...others] = watch.take();
  const is = { from: '0', key: 'k', hops: 3, requests: 4, nearest: '3', isAnswered: false };
  assert.deepEqual(one, is);
  assert.deepEqual([...others, ...watch.take()], []);
});

test('look-ups seen: an agent that is asked twice is asked in another look-up', () => {
  const watch = watchOf();
  for (let i = 0; i < 2; i++) {
    watch.sent('0', '9', ask('k'));
    watch.sent('9', '0', answer('k'));
  }
  assert.deepEqual(
    watch.take().map(({ requests, isAnswered }) => [requests, isAnswered]),
    [
      [1, true],
      [1, true],
    ],
  );
});

test('members by the rules: all others in a small cluster, and no more in a larger one', () => {
  const mean = (all: readonly number[]) => all.reduce((sum, one) => sum + one, 0) / all.length;
  assert.deepEqual(membersOf(5, 2, 8), [4, 4, 4, 4, 4]);
  const [small, large] = [64, 512].map((agents) => mean(membersOf(agents, 2, 4)));
  assert.ok(large! < small! * 1.3, `${small} and ${large}`);
});

test('a restarted cluster: an agent knows its members, and contacts in each subtree', () => {
  const [agents, ids, neighbourhood, bucketSize] = [40, 2, 4, 3];
  const known = knownTo({ agents, ids, neighbourhood, bucketSize }, new Random(1));
  const leaves = leavesOf(agents, ids);
  for (const [agent, needed] of neighboursOf(leaves, agents, neighbourhood).entries()) {
    const members = known.members.get(`a${agent + 1}`)!;
    for (const other of needed) assert.ok(members.includes(`a${other + 1}`));
  }
  for (const { key, agent } of leaves) {
    const contacts = known.contacts.get(`a${agent + 1}`)!;
    for (let level = 0; level < 20; level++) {
      const beside = siblingOf(key, level);
      const inside = leaves.filter((one) => one.agent !== agent && hasAny([one.key], beside));
      const there = inside.filter((one) => contacts.includes(`a${one.agent + 1}`));
      assert.ok(there.length >= Math.min(1, inside.length), `${agent} at ${level}`);
    }
  }
});
