import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { admission } from '../../../../agent/frontier/admission.ts';
import {
  HostSchedule,
  LOOKS_MAX,
  READ_MAX,
  READY_MAX,
} from '../../../../agent/frontier/schedule/host-schedule.ts';
import { MinHeap } from '../../../../agent/frontier/schedule/min-heap.ts';

const numberOf = (host: string) => Number(host.slice(1));

/**
 * Host names are `h` and a number. `stored`: the numbers of the hosts with a queue in the store.
 */
function byDigit(stored: readonly number[] = [], isVisited = (_: string) => false) {
  const queuedFrom = (from: number, max: number) =>
    stored
      .filter((number) => number >= from)
      .slice(0, max)
      .map((number) => ({ number, host: `h${number}`, owned: number % 7 !== 0 }));
  return new HostSchedule({ numberOf, queuedFrom }, isVisited);
}

const takeReady = (schedule: HostSchedule) => schedule.takeReady(() => true)?.host;
const hasReady = (schedule: HostSchedule) =>
  (['new', 'back', 'slow'] as const).some((line) => schedule.hasReady(line));

test('heap: returns values in the order of their keys, whatever the order of insertion', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -50, max: 50 })), (keys) => {
      const heap = new MinHeap<number>();
      for (const key of keys) heap.push(key, key);
      const out: number[] = [];
      while (heap.size > 0) {
        const first = heap.firstKey;
        out.push(heap.pop()!);
        assert.equal(out.at(-1), first);
      }
      assert.deepEqual(
        out,
        [...keys].sort((a, b) => a - b),
      );
      assert.equal(heap.firstKey, Infinity);
      assert.equal(heap.pop(), undefined);
    }),
  );
});

test('host schedule: returns ready hosts in the order of their discovery', () => {
  const schedule = byDigit();
  for (const host of ['h3', 'h1', 'h2', 'h1']) schedule.schedule(host);
  assert.deepEqual([takeReady(schedule), takeReady(schedule)], ['h1', 'h2']);
  schedule.schedule('h1');
  assert.deepEqual([takeReady(schedule), takeReady(schedule)], ['h1', 'h3']);
  assert.equal(takeReady(schedule), undefined);
  assert.equal(hasReady(schedule), false);
});

test('host schedule: a sleeping host is ready when its time has come, and not before', () => {
  const schedule = byDigit();
  schedule.sleep('h1', 100, 'delay');
  assert.equal(schedule.nextWakeMs(), 100);
  schedule.wakeUntil(99);
  assert.equal(hasReady(schedule), false);
  schedule.wakeUntil(100);
  assert.equal(takeReady(schedule), 'h1');
  assert.equal(schedule.nextWakeMs(), Infinity);
});

test('host schedule: a new URL wakes a host whose URLs wait, but not one that waits itself', () => {
  const schedule = byDigit();
  schedule.sleep('h1', 100, 'retries');
  schedule.sleep('h2', 100, 'delay');
  schedule.schedule('h1');
  schedule.schedule('h2');
  assert.equal(takeReady(schedule), 'h1');
  assert.equal(takeReady(schedule), undefined);
  schedule.wakeUntil(100);
  assert.equal(takeReady(schedule), 'h2', 'the obsolete entry of h1 wakes no host');
  assert.equal(takeReady(schedule), undefined);
});

test('host schedule: a blocked host waits for its event, whatever is queued', () => {
  const schedule = byDigit();
  schedule.waitFor('h1', 'right');
  schedule.waitFor('h2', 'right');
  schedule.schedule('h1');
  schedule.wakeUntil(1e12);
  assert.equal(hasReady(schedule), false);
  schedule.wake('h2');
  schedule.wake('h9');
  assert.equal(takeReady(schedule), 'h2');
  schedule.wakeAll();
  assert.equal(takeReady(schedule), 'h1');
});

test('host schedule: each host has the reason of its latest wait', () => {
  const schedule = byDigit();
  const waits = () => [1, 2, 3].map((n) => schedule.waitOf(`h${n}`));
  schedule.schedule('h1');
  schedule.sleep('h2', 100, 'retries');
  schedule.waitFor('h3', 'robots');
  assert.deepEqual(waits(), [
    { kind: 'new' },
    { kind: 'time', untilMs: 100, why: 'retries' },
    { kind: 'event', why: 'robots' },
  ]);
  takeAll(schedule);
  schedule.wakeUntil(100);
  schedule.waitFor('h3', 'permit');
  assert.deepEqual(waits(), [undefined, { kind: 'back' }, { kind: 'event', why: 'permit' }]);
});

const many = Array.from({ length: 20 * LOOKS_MAX }, (_, n) => `h${n}`);

/**
 * Changes whose work per turn is counted, either in their predicate or in the exit from the waits.
 */
const changes: Record<string, (schedule: HostSchedule, count: () => void) => void> = {
  'of the owners': (schedule, count) =>
    schedule.keepOnly((host) => {
      count();
      return numberOf(host) % 2 === 0;
    }),
  'by a directive': (schedule, count) =>
    schedule.recheckAll(() => {
      count();
      return true;
    }),
};

for (const [what, change] of Object.entries(changes)) {
  test(`host schedule: a change ${what} is applied to some hosts per turn, and finally to all`, () => {
    const schedule = byDigit();
    for (const host of many) schedule.waitFor(host, 'right');
    let looks = 0;
    const inOneTurn: number[] = [];
    change(schedule, () => looks++);
    for (; ; schedule.goOn()) {
      inOneTurn.push(looks);
      looks = 0;
      if (schedule.nextWakeMs() > 0) break;
    }
    assert.deepEqual(inOneTurn, Array(many.length / LOOKS_MAX).fill(LOOKS_MAX));
    const isNoMoreBlocked = (host: string) => !schedule.has(host) || numberOf(host) % 2 === 0;
    assert.ok(what !== 'of the owners' || many.every(isNoMoreBlocked));
  });
}

/** Takes all hosts that are ready. */
function takeAll(schedule: HostSchedule): string[] {
  const taken: string[] = [];
  while (hasReady(schedule)) taken.push(takeReady(schedule)!);
  return taken;
}

test('host schedule: makes only some hosts ready per turn when many are unblocked or due', () => {
  const schedule = byDigit();
  const freed: Record<string, () => void> = {
    blocked: () => schedule.wakeAll(),
    asleep: () => schedule.wakeUntil(100),
  };
  for (const [how, free] of Object.entries(freed)) {
    for (const host of many) {
      if (how === 'blocked') schedule.waitFor(host, 'right');
      else schedule.sleep(host, 100, 'delay');
    }
    const ready = new Set<string>();
    for (free(); schedule.nextWakeMs() <= 100 || hasReady(schedule); ) {
      const taken = takeAll(schedule);
      assert.ok(taken.length <= LOOKS_MAX, `${taken.length} in one turn`);
      for (const host of taken) ready.add(host);
      schedule.goOn();
      schedule.wakeUntil(100);
    }
    assert.equal(ready.size, many.length, how);
    assert.equal(schedule.isEmpty(), true);
  }
});

test('host schedule: hosts that are blocked again immediately do not keep the turns busy', () => {
  const schedule = byDigit();
  for (const host of many) schedule.waitFor(host, 'right');
  schedule.wakeAll();
  let turns = 1;
  for (; schedule.nextWakeMs() === 0; turns++) {
    for (const host of takeAll(schedule)) schedule.waitFor(host, 'right');
    schedule.goOn();
  }
  assert.ok(turns <= many.length / LOOKS_MAX + 1, `${turns} turns`);
});

test('host schedule: two concurrent changes are applied to every host', () => {
  const schedule = byDigit();
  for (const host of many) schedule.waitFor(host, 'right');
  schedule.keepOnly((host) => numberOf(host) % 2 === 0);
  schedule.wakeAll();
  const ready = new Set(takeAll(schedule));
  while (schedule.nextWakeMs() === 0) {
    schedule.goOn();
    for (const host of takeAll(schedule)) ready.add(host);
  }
  assert.equal(ready.size, many.length / 2);
  assert.equal(schedule.isEmpty(), true);
});

test('host schedule: keeps few of many new hosts in memory, and returns all in their order', () => {
  const count = 20 * READY_MAX;
  const numbers = Array.from({ length: count }, (_, i) => i + 1);
  const schedule = byDigit(numbers);
  let sizeMax = 0;
  for (const number of numbers.toReversed()) {
    schedule.schedule(`h${number}`);
    sizeMax = Math.max(sizeMax, schedule.size);
  }
  const taken: number[] = [];
  while (hasReady(schedule)) {
    const host = takeReady(schedule);
    if (host !== undefined) taken.push(numberOf(host));
    sizeMax = Math.max(sizeMax, schedule.size);
  }
  assert.ok(sizeMax <= READY_MAX + READ_MAX, `${sizeMax} in memory`);
  const seen = new Set(taken);
  const missing = numbers.filter((number) => number % 7 !== 0 && !seen.has(number));
  assert.deepEqual(
    taken,
    [...taken].sort((a, b) => a - b),
  );
  assert.equal(seen.size, taken.length);
  assert.deepEqual(missing.slice(0, 3), []);
  assert.equal(schedule.isEmpty(), true);
});

test('host schedule: does not read sleeping or visited hosts from the store as ready', () => {
  const numbers = Array.from({ length: 2 * READY_MAX }, (_, i) => 7 * i + 1);
  const [asleep, visited] = [`h${numbers.at(-1)}`, `h${numbers.at(-2)}`];
  const schedule = byDigit(numbers, (host) => host === visited);
  for (const number of numbers) schedule.schedule(`h${number}`);
  schedule.sleep(asleep, 100, 'delay');
  const taken = new Set<string>();
  while (hasReady(schedule)) taken.add(takeReady(schedule) ?? '');
  taken.delete('');
  assert.equal(taken.size, numbers.length - 2);
  assert.equal(taken.has(asleep) || taken.has(visited), false);
  assert.equal(schedule.isEmpty(), false);
  schedule.wakeUntil(100);
  assert.equal(takeReady(schedule), asleep);
  assert.equal(schedule.isEmpty(), true);
});

test('host schedule: a returning host waits for one new host, however many there are', () => {
  const schedule = byDigit();
  for (let number = 1; number < 1000; number++) schedule.schedule(`h${number}`);
  const back = ['h5001', 'h5002'];
  for (const host of back) schedule.comeBack(host);
  const taken = Array.from({ length: 4 }, () => takeReady(schedule));
  assert.deepEqual(taken, ['h5001', 'h1', 'h5002', 'h2']);
});

test('admission: skips a URL as too long, else as too deep, else queues it', () => {
  const admit = admission({
    depthPerHost: 3,
    urlLength: 20,
    repeatedSegments: 5,
    everyPort: false,
  });
  const url = 'http://a.test/123456'; // 20 characters
  assert.equal(admit({ url, depth: 3 }), null);
  assert.equal(admit({ url, depth: 4 }), 'depth');
  assert.equal(admit({ url: `${url}7`, depth: 4 }), 'length');
});

test('admission: blocks a port of another protocol unless every port is allowed', () => {
  const admit = admission({
    depthPerHost: 3,
    urlLength: 2000,
    repeatedSegments: 5,
    everyPort: false,
  });
  const of = (url: string) => admit({ url, depth: 0 });
  assert.equal(of('http://a.test:25/'), 'blocked');
  assert.equal(of('https://[2606:4700::1111]:6667/x'), 'blocked');
  assert.equal(of('http://a.test:8080/?http://a.test:25/'), null);
  assert.equal(of('http://a.test/:25/'), null);
  const open = admission({ depthPerHost: 3, urlLength: 99, repeatedSegments: 5, everyPort: true });
  assert.equal(open({ url: 'http://a.test:25/', depth: 0 }), null);
});

test('admission: skips a path that repeats a segment too often as a trap', () => {
  const admit = admission({
    depthPerHost: 3,
    urlLength: 2000,
    repeatedSegments: 2,
    everyPort: false,
  });
  const of = (path: string) => admit({ url: `http://a.test${path}`, depth: 0 });
  assert.equal(of('/a/b/a/b'), null);
  assert.equal(of('/a/b/a/b/a'), 'trap');
  assert.equal(of('/a/b/c/a?x=/a/a/a'), null, 'the query is not part of the path');
  assert.equal(of('/////////'), null, 'empty segments do not count');
  assert.equal(of('/a/a'), null);
  assert.equal(of('/'), null);
  assert.equal(admit({ url: 'http://a.test/a/a/a', depth: 4 }), 'depth');
});
