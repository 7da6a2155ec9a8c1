import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as immediately } from 'node:timers/promises';
import { Turns } from '../../../agent/runtime/turns.ts';

/** Turns whose inputs are names; `turns` and `slices` have the inputs of each. */
function turnsOf(
  t: TestContext,
  expected: () => number,
  costMs = (_input: string) => 0,
  dueMs = () => 0,
  effectsOf: (inputs: readonly string[]) => { name: string; ms: number }[] = () => [],
) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const turns: string[][] = [];
  const slow: { tookMs: number; inputs: readonly string[] }[] = [];
  let inputs: string[] = [];
  const slices: string[][] = [];
  const now = { mono: 0, wall: 0 };
  const performed: string[] = [];
  const loop = new Turns<string, { name: string; ms: number }>({
    clock: { now: () => ({ ...now }) },
    store: {
      begin: () => {
        slices.push([]);
        return true;
      },
      commit: () => true,
    },
    handle: (input) => {
      inputs.push(input);
      slices.at(-1)!.push(input);
      now.mono += costMs(input);
    },
    expected,
    due: () => {
      now.mono += dueMs();
    },
    slow: (tookMs, inputs) => slow.push({ tookMs, inputs }),
    committed: () => {
      turns.push(inputs);
      inputs = [];
    },
    nextMs: () => 100_000,
    take: () => effectsOf(inputs),
    isDurable: () => false,
    perform: ({ name, ms }) => {
      performed.push(name);
      now.mono += ms;
      if (name === 'end') loop.close();
    },
    blocked: () => assert.fail('nothing is blocked'),
    failed: (error) => assert.fail(String(error)),
  });
  t.after(() => loop.close());
  return { loop, turns, slices, slow, performed, ended: () => immediately() };
}

test('turns: patient inputs wait until half of the expected inputs are there, and share a turn', async (t) => {
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
  // The wait of the first input does not shorten the wait of the next.
  loop.pushPatiently('b');
  t.mock.timers.tick(24);
  await ended();
  assert.equal(turns.length, 1);
  t.mock.timers.tick(1);
  await ended();
  assert.deepEqual(turns.at(-1), ['b']);
});

test('turns: nothing waits if few inputs are expected, and an urgent input never waits', async (t) => {
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

test('turns: a slice takes 200 inputs at most, and ends after 5 milliseconds of work', async (t) => {
  const costs: Record<string, number> = { dear: 500, fair: 4 };
  const { loop, turns, slices, ended } = turnsOf(
    t,
    () => 0,
    (input) => costs[input] ?? 0,
  );
  for (const input of ['dear', 'fair', 'fair', 'fair', 'fair', 'a', 'b']) loop.push(input);
  // The end of a turn does not follow a slice of work directly, so it is a slice without inputs.
  for (let i = 0; i < 5; i++) await ended();
  assert.deepEqual(slices, [['dear'], [], ['fair', 'fair'], ['fair', 'fair'], ['a', 'b']]);
  assert.deepEqual(turns, [['dear'], ['fair', 'fair', 'fair', 'fair', 'a', 'b']]);
  for (let i = 0; i < 201; i++) loop.push('a');
  for (let i = 0; i < 2; i++) await ended();
  assert.deepEqual(
    slices.slice(5).map((inputs) => inputs.length),
    [200, 1],
  );
});

test('turns: a turn takes no further slice after 50 milliseconds', async (t) => {
  const { loop, turns, ended } = turnsOf(
    t,
    () => 0,
    () => 20,
  );
  for (const input of ['a', 'b', 'c', 'd']) loop.push(input);
  for (let i = 0; i < 6; i++) await ended();
  assert.deepEqual(turns, [['a', 'b', 'c'], ['d']]);
});

test('turns: with nothing else expected, a patient input waits as long as it allows', async (t) => {
  const { loop, turns, ended } = turnsOf(t, () => 0);
  loop.pushPatiently('a', 5);
  t.mock.timers.tick(4);
  await ended();
  assert.deepEqual(turns, []);
  loop.pushPatiently('b', 5);
  t.mock.timers.tick(1);
  await ended();
  assert.deepEqual(turns, [['a', 'b']]);
});

test('turns: a slice that takes more than 100 milliseconds is reported with its inputs', async (t) => {
  let dueMs = 0;
  const { loop, slow, ended } = turnsOf(
    t,
    () => 0,
    (input) => (input === 'dear' ? 110 : 1),
    () => dueMs,
  );
  loop.push('a');
  await ended();
  assert.deepEqual(slow, []);
  loop.push('dear');
  for (let i = 0; i < 2; i++) await ended();
  assert.deepEqual(slow, [{ tookMs: 110, inputs: ['dear'] }]);
  dueMs = 100;
  loop.push('b');
  await ended();
  assert.deepEqual(slow[1], { tookMs: 101, inputs: ['b'] });
});

test('turns: effects are performed in slices, all of them before the next turn', async (t) => {
  const effectsOf = (inputs: readonly string[]) =>
    inputs.flatMap((input) => [1, 2, 3].map((k) => ({ name: `${input}${k}`, ms: 4 })));
  const { loop, turns, performed, ended } = turnsOf(
    t,
    () => 0,
    () => 0,
    () => 0,
    effectsOf,
  );
  loop.push('a');
  await ended();
  assert.deepEqual(performed, ['a1', 'a2']);
  loop.push('b');
  await ended();
  assert.deepEqual([turns, performed], [[['a']], ['a1', 'a2', 'a3']]);
  await ended();
  assert.deepEqual(turns, [['a'], ['b']]);
});

test('turns: all effects of the turn that ends the agent are performed', async (t) => {
  const { loop, performed, ended } = turnsOf(
    t,
    () => 0,
    () => 0,
    () => 0,
    () => ['end', 'last'].map((name) => ({ name, ms: 100 })),
  );
  loop.push('a');
  await ended();
  assert.deepEqual(performed, ['end', 'last']);
});
