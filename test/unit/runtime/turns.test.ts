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
  lock: { begin?: boolean; commit?: boolean } = {},
) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const turns: string[][] = [];
  const slow: { tookMs: number; inputs: readonly string[] }[] = [];
  let inputs: string[] = [];
  const slices: string[][] = [];
  const now = { mono: 0, wall: 0 };
  const performed: string[] = [];
  const begun: boolean[] = [];
  const commits: boolean[] = [];
  const loop = new Turns<string, { name: string; ms: number }>({
    clock: { now: () => ({ ...now }) },
    store: {
      begin: (durable) => {
        slices.push([]);
        if (lock.begin) return false;
        begun.push(durable);
        return true;
      },
      commit: (durable) => {
        commits.push(durable);
        return !lock.commit;
      },
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
    isDurable: ({ name }) => name.startsWith('ack'),
    perform: ({ name, ms }) => {
      performed.push(name);
      now.mono += ms;
      if (name === 'end') loop.close();
    },
    blocked: () => {
      if (!lock.begin) assert.fail('nothing is blocked');
    },
    failed: (error) => assert.fail(String(error)),
  });
  t.after(() => loop.close());
  const later = async (ms: number) => {
    now.mono += ms;
    t.mock.timers.tick(ms);
    await immediately();
  };
  return {
    loop,
    turns,
    slices,
    slow,
    performed,
    begun,
    commits,
    later,
    ended: () => immediately(),
  };
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

/** Inputs are effects of the same name. */
const sameName = (inputs: readonly string[]) => inputs.map((name) => ({ name, ms: 0 }));
const free = () => 0;

test('turns: a durable effect waits for a durable commit, 20 milliseconds later', async (t) => {
  const { loop, performed, begun, commits, ended, later } = turnsOf(t, free, free, free, sameName);
  loop.push('ack1');
  loop.push('a');
  await ended();
  assert.deepEqual([performed, begun, commits], [['a'], [false], [false]]);
  await later(19);
  assert.deepEqual(performed, ['a']);
  loop.push('ack2');
  await later(1);
  assert.deepEqual(
    [performed, begun, commits],
    [
      ['a', 'ack1', 'ack2'],
      [false, true],
      [false, true],
    ],
  );
});

test('turns: if turns are long, a durable effect is released by the next one', async (t) => {
  const { loop, performed, ended } = turnsOf(t, free, () => 30, free, sameName);
  for (const input of ['a', 'ack', 'b', 'c', 'd']) loop.push(input);
  for (let i = 0; i < 8; i++) await ended();
  assert.deepEqual(performed, ['a', 'b', 'c', 'ack', 'd']);
});

test('turns: a durable effect waits while its commit is not durable, or cannot begin', async (t) => {
  const lock = { begin: true, commit: true };
  const { loop, performed, commits, ended, later } = turnsOf(t, free, free, free, sameName, lock);
  lock.begin = false;
  loop.push('ack');
  await ended();
  await later(20);
  assert.deepEqual([performed, commits], [[], [false, true]]);
  lock.begin = true;
  await ended();
  await later(200);
  assert.deepEqual([performed, commits], [[], [false, true]]);
  Object.assign(lock, { begin: false, commit: false });
  await later(50);
  assert.deepEqual([performed, commits], [['ack'], [false, true, true]]);
});

test('turns: patient inputs stay patient while a turn ends', async (t) => {
  const { loop, turns, ended, later } = turnsOf(
    t,
    () => 6,
    (input) => (input === 'a' ? 3 : 0),
  );
  loop.push('a');
  await ended();
  loop.pushPatiently('b');
  await ended();
  assert.deepEqual(turns, [['a']]);
  await ended();
  assert.deepEqual(turns, [['a']]);
  await later(25);
  assert.deepEqual(turns, [['a'], ['b']]);
});

test('turns: a turn that is requested while effects wait follows them', async (t) => {
  const effectsOf = (inputs: readonly string[]) =>
    inputs.flatMap(() => [1, 2, 3].map((k) => ({ name: `${k}`, ms: 4 })));
  const { loop, turns, performed, ended } = turnsOf(t, free, free, free, effectsOf);
  loop.push('a');
  await ended();
  loop.kick();
  await ended();
  await ended();
  assert.deepEqual(
    [turns, performed],
    [
      [['a'], []],
      ['1', '2', '3'],
    ],
  );
});

test('turns: what was committed is performed when the agent ends between two slices', async (t) => {
  const effectsOf = (inputs: readonly string[]) =>
    inputs.flatMap(() => [1, 2, 3].map((k) => ({ name: `${k}`, ms: 4 })));
  const { loop, performed, ended } = turnsOf(t, free, free, free, effectsOf);
  loop.push('a');
  await ended();
  loop.close();
  assert.deepEqual(performed, ['1', '2', '3']);
});
