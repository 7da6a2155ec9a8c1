import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calm, rough, runModel } from './kademlia-model.ts';

test('kademlia model: while agents join, leave and crash, no two decide to own the same host', () => {
  for (const seed of [1, 2, 3]) {
    assert.deepEqual(runModel({ ...calm, seed }).problems, [], `seed ${seed}`);
  }
});

test('kademlia model: the same with drained agents, which own nothing', () => {
  for (const seed of [1, 2, 3]) {
    assert.deepEqual(runModel({ ...calm, seed, drained: 0.4 }).problems, [], `seed ${seed}`);
  }
});

test('kademlia model: agents know only some of the others, and each has the right ones', () => {
  const model = runModel({ ...calm, seed: 6, agents: 30, joins: 6, events: 0 });
  assert.deepEqual(model.problems, []);
  assert.ok(Math.min(...model.neighbours()) < 15, model.neighbours().join());
});

test('kademlia model: the checkers notice a region that does not wait for named agents', () => {
  const omit = 'ignore-named';
  const caught = [2, 3, 1].some((seed) => runModel({ ...rough, seed, omit }).problems.length > 0);
  assert.ok(caught);
});

test('kademlia model: one seed gives one course', () => {
  const run = () => {
    const model = runModel({ ...calm, seed: 7, agents: 6, events: 3 });
    return [model.neighbours(), model.random.next()];
  };
  assert.deepEqual(run(), run());
});
