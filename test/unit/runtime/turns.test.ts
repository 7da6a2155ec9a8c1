import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as immediately } from 'node:timers/promises';
import { Turns } from '../../../agent/runtime/turns.ts';

/** Turns whose inputs are names; `turns` has those of each turn. */
function turnsOf(t: TestContext, expected: () => number) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const turns: string[][] = [];
  let inputs: string[] = [];
  const loop = new Turns<string, never>({
    clock: { now: () => ({ mono: 0, wall: 0 }) },
    store: { begin: () => true, commit: () => true },
    handle: (input) => inputs.push(input),
    expected,
    due: () => {},
    committed: () => {
      turns.push(inputs);
      inputs = [];
    },
    nextMs: () => 100_000,
    take: () => [],
    isDurable: () => false,
    perform: () => {},
    blocked: () => assert.fail('nothing is blocked'),
    failed: (error) => assert.fail(String(error)),
  });
  t.after(() => loop.close());
  return { loop, turns, ended: () => immediately() };
}

test('turns: patient inputs wait for half of those expected, and share a turn', async (t) => {
  const { loop, turns, ended } = turnsOf(t, () => 6);
  loop.pushPatiently('a');
  loop.pushPatiently('b');
  await ended();
  assert.deepEqual(turns, []);
  loop.pushPatiently('c');
  await ended();
  assert.deepEqual(turns, [['a', 'b', 'c']]);
});

test('turns: a patient input waits 25 milliseconds at most', async (t) => {
  const { loop, turns, ended } = turnsOf(t, () => 1000);
  loop.pushPatiently('a');
  t.mock.timers.tick(24);
  await ended();
  assert.deepEqual(turns, []);
  t.mock.timers.tick(1);
  await ended();
  assert.deepEqual(turns, [['a']]);
  // The wait of the first does not shorten that of the next.
  loop.pushPatiently('b');
  t.mock.timers.tick(24);
  await ended();
  assert.equal(turns.length, 1);
  t.mock.timers.tick(1);
  await ended();
  assert.deepEqual(turns.at(-1), ['b']);
});

test('turns: where little is expected nothing waits, nor does an input that is in a hurry', async (t) => {
  let expected = 2;
  const { loop, turns, ended } = turnsOf(t, () => expected);
  loop.pushPatiently('a');
  await ended();
  expected = 1000;
  loop.pushPatiently('b');
  loop.push('c');
  await ended();
  assert.deepEqual(turns, [['a'], ['b', 'c']]);
});
