import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HostRecord } from '../../../../agent/frontier/frontier-store.ts';
import { holdHost } from '../../../../agent/frontier/outcome/outcome-handling.ts';

test('outcomes: a wait stored by a clock that was days ahead does not become longer by a failure', () => {
  const hour = 3_600_000;
  for (const [storedMs, expectedMs] of [
    [48 * hour, 1000],
    [hour, hour],
  ] as const) {
    const record = { host: 'a.test', notBefore: storedMs } as HostRecord;
    const told: number[] = [];
    holdHost({ right: { waitUntil: (_, untilMs) => told.push(untilMs) } }, record, 0, 1000);
    assert.deepEqual([record.notBefore, told], [expectedMs, [expectedMs]]);
  }
});
