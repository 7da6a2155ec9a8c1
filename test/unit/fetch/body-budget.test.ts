// The memory for bodies, without any body.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type BodyAccount, BodyBudget } from '../../../agent/fetch/body-budget.ts';

const MIB = 1024 ** 2;

/** Opens an account for each size; `granted` has the indices in the order of the grants. */
function reserveAll(budget: BodyBudget, sizes: readonly number[]) {
  const granted: number[] = [];
  const accounts = sizes.map((bytes, index): BodyAccount => {
    const account = budget.open();
    if (account.reserve(bytes, () => granted.push(index))) granted.push(index);
    return account;
  });
  return { granted, accounts };
}

test('body budget: what does not fit waits, in order of arrival, also for a smaller one', () => {
  const budget = new BodyBudget({ ordinaryBytesMax: 10, largeBytesMax: 10 });
  const { granted, accounts } = reserveAll(budget, [6, 6, 1, 3]);
  assert.deepEqual([granted, budget.reserved, budget.waiting], [[0], 6, 3]);
  accounts[0]!.close();
  assert.deepEqual([granted, budget.reserved, budget.waiting], [[0, 1, 2, 3], 10, 0]);
});

test('body budget: a body that exceeds it is read alone', () => {
  const budget = new BodyBudget({ ordinaryBytesMax: 10, largeBytesMax: 10 });
  const { granted, accounts } = reserveAll(budget, [30, 1, 30, 1]);
  assert.deepEqual(granted, [0]);
  accounts[0]!.close();
  assert.deepEqual(granted, [0, 1]);
  accounts[1]!.close();
  assert.deepEqual(granted, [0, 1, 2]);
  accounts[2]!.close();
  assert.deepEqual(granted, [0, 1, 2, 3]);
});

test('body budget: large bodies that wait hold up no ordinary ones', () => {
  const budget = new BodyBudget();
  const { granted, accounts } = reserveAll(
    budget,
    [50, 50, 50, 10].map((size) => size * MIB),
  );
  assert.deepEqual(granted, [0, 1, 3]);
  accounts[1]!.close();
  assert.deepEqual(granted, [0, 1, 3, 2]);
});

test('body budget: who leaves while it waits is not granted, and makes room in the line', () => {
  const budget = new BodyBudget({ ordinaryBytesMax: 10, largeBytesMax: 10 });
  const { granted, accounts } = reserveAll(budget, [8, 8, 2]);
  accounts[1]!.close();
  assert.deepEqual(granted, [0, 2]);
  accounts[0]!.close();
  assert.deepEqual([granted, budget.reserved], [[0, 2], 2]);
  accounts[0]!.close();
  accounts[2]!.close();
  budget.open().close();
  assert.deepEqual([budget.reserved, budget.waiting], [0, 0]);
});

test('body budget: the next may be granted, and leave, while another leaves', () => {
  const budget = new BodyBudget({ ordinaryBytesMax: 10, largeBytesMax: 10 });
  const first = budget.open();
  assert.equal(first.reserve(10, assert.fail), true);
  const order: number[] = [];
  for (let k = 0; k < 5; k++) {
    const account = budget.open();
    account.reserve(10, () => {
      order.push(k);
      account.close();
    });
  }
  first.close();
  assert.deepEqual([order, budget.reserved, budget.waiting], [[0, 1, 2, 3, 4], 0, 0]);
});

test('body budget: whatever comes and goes, the sums are right and everyone gets its turn', () => {
  const steps = fc.array(fc.record({ bytes: fc.nat(40), closes: fc.nat(20) }), { maxLength: 60 });
  fc.assert(
    fc.property(steps, (all) => {
      const bytesMax = 25;
      const budget = new BodyBudget({ ordinaryBytesMax: bytesMax, largeBytesMax: 0 });
      const open = new Map<number, { account: BodyAccount; bytes: number }>();
      const granted: number[] = [];
      const closed = new Set<number>();
      const leave = (k: number) => {
        open.get(k)!.account.close();
        open.delete(k);
        closed.add(k);
      };
      for (const [k, { bytes, closes }] of all.entries()) {
        const account = budget.open();
        open.set(k, { account, bytes });
        if (account.reserve(bytes, () => granted.push(k))) granted.push(k);
        const held = granted.filter((one) => open.has(one));
        const sum = held.reduce((total, one) => total + open.get(one)!.bytes, 0);
        assert.equal(budget.reserved, sum);
        assert.ok(sum <= bytesMax || held.length === 1);
        const leaver = [...open.keys()][closes];
        if (leaver !== undefined) leave(leaver);
      }
      while (open.size > 0) {
        const holder = granted.find((k) => open.has(k));
        assert.notEqual(holder, undefined, 'somebody is always granted');
        leave(holder!);
      }
      assert.deepEqual([budget.reserved, budget.waiting], [0, 0]);
      assert.deepEqual(
        granted,
        granted.toSorted((a, b) => a - b),
      );
    }),
  );
});
