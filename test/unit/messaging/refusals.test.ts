import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Refusals } from '../../../agent/messaging/refusals.ts';

describe('refusals', () => {
  it('refusals: a flood with one reason is logged as one line, then as a sum per interval', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const lines: object[] = [];
    const log = { debug: () => {}, warn: (fields: object) => lines.push(fields) };
    const refusals = new Refusals(log);
    for (let i = 0; i < 1000; i += 1) refusals.count({ code: 'bad_magic', detail: 'x' });
    refusals.count({ code: 'bad_json', detail: 'y' });
    assert.equal(lines.length, 2);
    t.mock.timers.tick(10_000);
    assert.deepEqual(lines[2], { code: 'bad_magic', more: 999 });
    assert.equal(lines.length, 3);
    refusals.count({ code: 'bad_magic', detail: 'z' });
    assert.deepEqual(lines[3], { code: 'bad_magic', detail: 'z' });
    assert.deepEqual(refusals.counts(), { bad_magic: 1001, bad_json: 1 });
    refusals.close();
  });
});
