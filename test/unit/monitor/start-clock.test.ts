import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { decodeFrame, encodeEnvelope } from '../../../agent/messaging/codec.ts';
import { AHEAD_MS_MAX, clockRefusal, judgeClock } from '../../../agent/monitor/start-clock.ts';

const written = Date.UTC(2026, 0, 1);
const day = 24 * 3600 * 1000;

describe('the clock at a start', () => {
  let data: string;
  beforeEach(() => {
    data = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-clock-'));
  });
  afterEach(() => fs.rmSync(data, { recursive: true }));

  function state(id: string, file = 'state.sqlite', ms = written): void {
    fs.mkdirSync(path.join(data, id), { recursive: true });
    const at = path.join(data, id, file);
    fs.writeFileSync(at, '');
    fs.utimesSync(at, ms / 1000, ms / 1000);
  }
  const judge = (ms: number, id = 'a1') => judgeClock(path.join(data, id), ms);

  test('a clock more than 366 days after the last write is refused with both times and the remedy', () => {
    state('a1');
    assert.deepEqual(judge(written + 366 * day), { verdict: 'plausible' });
    const { verdict, message } = judge(written + 367 * day) as { verdict: string; message: string };
    assert.equal(verdict, 'ahead');
    assert.match(
      message,
      /2027-01-03T00:00.*2026-01-01T00:00.*set the clock.*touch .*state\.sqlite/,
    );
    assert.deepEqual(fs.readdirSync(path.join(data, 'a1')), ['state.sqlite']);
  });

  test('the write-ahead log and the files of other agents count as writes', () => {
    state('a1');
    state('a1', 'state.sqlite-wal', written + 100 * day);
    assert.equal(judge(written + 400 * day).verdict, 'plausible');
    assert.equal(judge(written + 500 * day, 'a2').verdict, 'ahead');
  });

  test('a clock more than a day before the last write causes a warning', () => {
    state('a1');
    assert.equal(judge(written - 0.5 * day).verdict, 'plausible');
    const { verdict, message } = judge(written - 2 * day) as { verdict: string; message: string };
    assert.equal(verdict, 'behind');
    assert.match(message, /2025-12-30T00:00.*2026-01-01T00:00/);
  });

  test('any clock is plausible for a new directory', () => {
    assert.deepEqual(judge(written), { verdict: 'plausible' });
  });

  test('a frame from an incarnation too far ahead names its sender, which is answered with both times', () => {
    const inc = written + AHEAD_MS_MAX + day;
    const from = { id: 'a2', inc };
    const refusal = clockRefusal({ id: 'a1', inc, joined: true, nowMs: written });
    const encoded = encodeEnvelope({ from, to: { id: 'a1', inc: 0 }, message: refusal });
    assert.ok(encoded.ok);
    const decoded = decodeFrame(encoded.frame, written + AHEAD_MS_MAX);
    assert.ok(!decoded.ok);
    assert.deepEqual(decoded.ahead, from);
    assert.equal(decoded.from, undefined);
    assert.ok(decodeFrame(encoded.frame, inc).ok);
    assert.match(refusal.path, /2027-01-03T00:00.*2026-01-01T00:00/);
  });
});
