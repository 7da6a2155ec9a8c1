// Tests how the memory for bodies is reserved and released, with simulated bodies on virtual time.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { type BodyAccount, BodyBudget } from '../../../../agent/fetch/body/body-budget.ts';

const MIB = 1024 ** 2;
/** A body without a step for longer than this is slow. */
const PATIENCE_MS = 500;

let nowMs = 0;
const now = () => nowMs;

/** A body that reserves memory in steps, as a reader does; closed when the budget aborts it. */
class Body {
  readonly account: BodyAccount;
  readonly bytesMax: number;
  readonly startedAt: number;
  held = 0;
  wanted = 0;
  /** Measured, as the budget does, at the last step before which the body did not have to wait. */
  isSlow = false;
  #since = nowMs;
  #hasWaited = false;
  isBroken = false;
  onGranted = () => {};

  constructor(budget: BodyBudget, bytesMax = 10) {
    this.account = budget.open();
    this.bytesMax = bytesMax;
    this.startedAt = nowMs;
  }

  get waits(): boolean {
    return this.held < this.wanted;
  }

  /** @returns whether it may continue */
  wants(bytes: number): boolean {
    this.wanted = bytes;
    if (!this.#hasWaited) this.isSlow = nowMs - this.#since > PATIENCE_MS;
    const { bytesMax, startedAt } = this;
    const granted = () => {
      this.held = this.wanted;
      this.#since = nowMs;
      this.onGranted();
    };
    const onTooSlow = () => {
      this.isBroken = true;
      this.close();
    };
    if (this.account.reserve(bytes, { bytesMax, startedAt, onGranted: granted, onTooSlow })) {
      this.held = bytes;
      this.#since = nowMs;
    }
    this.#hasWaited = this.waits;
    return !this.waits;
  }

  close(): void {
    this.account.ended();
    this.account.close();
  }
}

/**
 * Advances in small steps, because a timer that is set again within a tick fires late by the rest
 * of that tick.
 */
function pass(t: TestContext, ms: number): void {
  for (let left = ms; left > 0; left -= 125) {
    nowMs += 125;
    t.mock.timers.tick(125);
  }
}

function budgetOf(t: TestContext, bytesMax = 10) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  return new BodyBudget({ ordinaryBytesMax: bytesMax, largeBytesMax: bytesMax }, now);
}

test('body budget: counts what a body holds, not its maximum', (t) => {
  const budget = budgetOf(t);
  const bodies = Array.from({ length: 10 }, () => new Body(budget));
  for (const body of bodies) assert.equal(body.wants(1), true);
  assert.deepEqual([budget.reserved, budget.waiting], [10, 0]);
  for (const body of bodies) body.close();
  assert.deepEqual([budget.reserved, budget.waiting], [0, 0]);
});

test('body budget: reservations that do not fit wait in order of age, even before smaller ones', (t) => {
  const budget = budgetOf(t);
  const bodies = Array.from({ length: 4 }, () => new Body(budget));
  const granted: number[] = [];
  for (const [k, body] of bodies.entries()) body.onGranted = () => granted.push(k);
  const [first, second, third, fourth] = bodies as [Body, Body, Body, Body];
  assert.deepEqual(
    [third.wants(6), second.wants(3), first.wants(4), fourth.wants(1)],
    [...[true, true, false, false]],
  );
  // It opened before the other two.
  assert.equal(second.wants(5), false);
  third.close();
  assert.deepEqual(granted, [1, 0, 3]);
  assert.deepEqual([budget.reserved, budget.waiting], [10, 0]);
});

test('body budget: when all bodies wait, the oldest alone continues until its end', (t) => {
  const budget = budgetOf(t);
  const [first, second] = [new Body(budget), new Body(budget)];
  assert.deepEqual([first.wants(5), second.wants(5), second.wants(6)], [true, true, false]);
  assert.equal(first.wants(6), true);
  assert.equal(first.wants(10), true);
  assert.equal(second.waits, true);
  first.close();
  assert.deepEqual([second.waits, budget.reserved], [false, 6]);
});

test('body budget: aborts a dripping body as soon as a quick body has to wait', (t) => {
  const budget = budgetOf(t);
  const drips = new Body(budget);
  assert.equal(drips.wants(9), true);
  pass(t, 60_000);
  assert.equal(drips.isBroken, false, 'not while no body waits');
  const calm = new Body(budget);
  assert.equal(calm.wants(2), false);
  pass(t, PATIENCE_MS);
  assert.deepEqual([drips.isBroken, calm.waits, budget.reserved], [true, false, 2]);
  pass(t, 60_000);
  assert.equal(calm.isBroken, false);
});

test('body budget: a body that makes steps, is being parsed or waits for memory is not slow', (t) => {
  const budget = budgetOf(t);
  const [parsed, reads, waits] = [new Body(budget), new Body(budget), new Body(budget)];
  assert.deepEqual([parsed.wants(5), reads.wants(1), waits.wants(5)], [true, true, false]);
  parsed.account.ended();
  for (let n = 0; n < 4; n++) {
    pass(t, PATIENCE_MS / 2);
    // It opened before the waiting body, so it is served first.
    assert.equal(reads.wants(2 + n), true);
  }
  assert.deepEqual([parsed.isBroken, reads.isBroken, waits.isBroken], [false, false, false]);
});

test('body budget: a check that comes late aborts no body', (t) => {
  const budget = budgetOf(t);
  const [behind, waits] = [new Body(budget), new Body(budget)];
  assert.deepEqual([behind.wants(9), waits.wants(2)], [true, false]);
  // The agent itself was stalled, and has not yet read what arrived meanwhile.
  nowMs += 60_000;
  t.mock.timers.tick(250);
  assert.equal(behind.isBroken, false);
  assert.deepEqual([behind.wants(10), waits.waits], [true, true]);
});

test('body budget: aborts the largest slow body first, and no more than needed', (t) => {
  const budget = budgetOf(t);
  const [small, large, calm] = [new Body(budget), new Body(budget), new Body(budget, 2)];
  assert.deepEqual([small.wants(3), large.wants(6), calm.wants(2)], [true, true, false]);
  pass(t, 2 * PATIENCE_MS);
  assert.deepEqual([small.isBroken, large.isBroken, calm.waits], [false, true, false]);
});

test('body budget: a slow body stays slow while it waits, and aborts no other body', (t) => {
  const budget = budgetOf(t);
  const [slow, drips] = [new Body(budget), new Body(budget)];
  assert.equal(drips.wants(4), true);
  pass(t, 2 * PATIENCE_MS);
  // It is slow because its first step took so long.
  assert.equal(slow.wants(5), false);
  pass(t, 60_000);
  assert.deepEqual([slow.waits, drips.isBroken], [true, false]);
  const calm = new Body(budget, 5);
  assert.equal(calm.wants(5), true, 'slow bodies leave room for it');
});

test('body budget: aborts a waiting slow body for a quick one', (t) => {
  const budget = budgetOf(t);
  const slow = new Body(budget);
  assert.equal(slow.wants(7), true);
  const parsed = new Body(budget, 1);
  assert.equal(parsed.wants(1), true);
  parsed.account.ended();
  pass(t, 2 * PATIENCE_MS);
  assert.equal(slow.wants(9), false);
  const calm = new Body(budget);
  assert.equal(calm.wants(5), false);
  pass(t, PATIENCE_MS);
  assert.deepEqual([slow.isBroken, calm.waits], [true, false]);
});

test('body budget: large bodies leave room for small ones, which are served first', (t) => {
  const budget = budgetOf(t, 40 * MIB);
  const large = Array.from({ length: 4 }, () => new Body(budget, 10 * MIB));
  assert.deepEqual(
    large.map((body) => body.wants(10 * MIB)),
    [true, true, true, false],
  );
  for (const body of large.slice(0, 3)) body.account.ended();
  const small = Array.from({ length: 6 }, () => new Body(budget, 2 * MIB));
  assert.deepEqual(
    small.map((body) => body.wants(2 * MIB)),
    [true, true, true, true, true, false],
  );
  small[0]!.close();
  assert.deepEqual([small[5]!.waits, large[3]!.waits], [false, true]);
});

test('body budget: large bodies that wait do not delay ordinary ones', () => {
  const budget = new BodyBudget();
  const large = Array.from({ length: 3 }, () => new Body(budget, 50 * MIB));
  for (const body of large) body.wants(30 * MIB);
  assert.deepEqual(
    large.map((body) => body.waits),
    [false, true, true],
  );
  const page = new Body(budget, 10 * MIB);
  assert.equal(page.wants(10 * MIB), true);
  for (const body of [...large, page]) body.close();
});

test('body budget: a body may be granted memory and close while another one closes', (t) => {
  const budget = budgetOf(t);
  const first = new Body(budget);
  assert.equal(first.wants(10), true);
  const order: number[] = [];
  for (let k = 0; k < 5; k++) {
    const body = new Body(budget);
    body.onGranted = () => {
      order.push(k);
      body.close();
    };
    body.wants(10);
  }
  first.close();
  first.close();
  budget.open().close();
  assert.deepEqual([order, budget.reserved, budget.waiting], [[0, 1, 2, 3, 4], 0, 0]);
});

const step = fc.record({
  what: fc.constantFrom('open', 'read', 'read', 'read', 'read', 'end', 'close', 'pass'),
  nth: fc.nat(50),
  bytes: fc.integer({ min: 1, max: 5 }),
});

test('body budget: stays bounded and serves every body in any sequence of steps', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const steps = fc.array(step, { maxLength: 150, size: 'max' });
  fc.assert(
    fc.property(steps, (all) => {
      const [bytesMax, bodyMax] = [25, 20];
      const budget = new BodyBudget({ ordinaryBytesMax: bytesMax, largeBytesMax: 0 }, now);
      const open = new Set<Body>();
      const ended = new Set<Body>();
      const close = (body: Body) => {
        body.close();
        open.delete(body);
      };
      const check = () => {
        for (const body of open) if (body.isBroken) open.delete(body);
        let sum = 0;
        let waiting = 0;
        for (const body of open) {
          sum += body.held;
          if (body.waits && !ended.has(body)) waiting++;
        }
        assert.deepEqual([budget.reserved, budget.waiting], [sum, waiting]);
        assert.ok(sum <= bytesMax + bodyMax, `${sum}`);
      };
      for (const { what, nth, bytes } of all) {
        if (what === 'open') open.add(new Body(budget, bodyMax));
        if (what === 'pass') pass(t, bytes * 125);
        const body = [...open][nth % open.size];
        const reads = body && !body.waits && !ended.has(body);
        if (what === 'read' && reads && body.held + bytes <= bodyMax) body.wants(body.held + bytes);
        if (what === 'end' && reads) {
          body.account.ended();
          ended.add(body);
        }
        if (what === 'close' && body) close(body);
        check();
      }
      // From now on all that can continue only drip; complete bodies are parsed.
      const waited = [...open].filter((body) => body.waits && !ended.has(body));
      for (const body of ended) if (open.has(body)) close(body);
      const limit = 2 * open.size;
      for (let n = 0; n <= limit; n++) pass(t, PATIENCE_MS / 2);
      check();
      for (const body of waited) assert.ok(!body.waits || body.isBroken || body.isSlow);
      // A slow body waits for other slow ones, and is served when they end.
      while (open.size > 0) {
        const served = [...open].filter((body) => !body.waits);
        assert.ok(served.length > 0);
        for (const body of served) close(body);
        check();
      }
      assert.deepEqual([budget.reserved, budget.waiting], [0, 0]);
    }),
  );
});
