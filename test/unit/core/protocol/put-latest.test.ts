// The state of agents that come and go stays within its bound, and the latest entries are kept.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { putLatest } from '../../../../agent/core/protocol/put-latest.ts';

it('drops the entry that was put longest ago, and keeps one that was put again', () => {
  const map = new Map<string, number>();
  for (let k = 0; k < 1000; k++) {
    putLatest(map, `g${k}`, k, 3);
    putLatest(map, 'a1', k, 3);
  }
  assert.deepEqual(
    [...map],
    [
      ['g998', 998],
      ['g999', 999],
      ['a1', 999],
    ],
  );
});
