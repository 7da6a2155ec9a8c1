import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SlowTurns } from '../../../agent/monitor/slow-turns.ts';

test('slow turns: logs one line in ten seconds, with the slowest turn since the previous line', () => {
  let now = 0;
  const lines: unknown[] = [];
  const turns = new SlowTurns({ warn: (line: unknown) => lines.push(line) }, () => now);
  turns.note(120.4, [{ type: 'message' }, { type: 'outcome' }, { type: 'message' }]);
  assert.deepEqual(lines, [{ tookMs: 120, inputs: { message: 2, outcome: 1 }, turns: 1 }]);
  now = 9000;
  turns.note(300, [{ type: 'leave' }]);
  now = 11_000;
  turns.note(150, []);
  assert.deepEqual(lines.slice(1), [{ tookMs: 300, inputs: { leave: 1 }, turns: 2 }]);
});
