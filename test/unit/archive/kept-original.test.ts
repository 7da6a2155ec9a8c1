// Tests which records may be revisited: those in files of the agent's own archive that still exist,
// for both compression formats and for records whose heads are hard to read.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { keptOriginal } from '../../../agent/archive/kept-original.ts';
import type { ArchivePlace, Capture } from '../../../agent/archive/record/capture.ts';
import { SeenPayloads } from '../../../agent/archive/record/seen-payloads.ts';
import { WarcWriter } from '../../../agent/archive/warc-writer.ts';
import { bytes, capture } from './captures.ts';

const compressions = [
  { format: 'gzip', level: 1 },
  { format: 'zstd', level: 3 },
] as const;
const url = 'http://example.org/%7Eann/';

/** An archive of which each record has a file of its own. */
function archiveOf(t: Pick<TestContext, 'after'>, format: 'gzip' | 'zstd') {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-kept-'));
  t.after(() => fs.rmSync(directory, { recursive: true }));
  let ids = 0;
  const writer = new WarcWriter({
    ...{ directory, agent: 'a1', fileBytes: 1, durable: false, serial: 1, about: [] },
    compression: compressions.find((compression) => compression.format === format)!,
    ...{ seen: new SeenPayloads(), now: () => 0, newId: () => String(++ids) },
  });
  const add = (part: Partial<Capture>, body: Uint8Array): ArchivePlace => {
    const place = writer.append(capture(part), body);
    writer.flush();
    writer.rotate();
    return place;
  };
  const find = ({ file, offset, payload }: ArchivePlace, agent = 'a1') =>
    keptOriginal(directory, agent, {
      ...{ warcFile: file, warcOffset: offset },
      ...(payload !== undefined && { payload }),
    });
  const remove = ({ file }: ArchivePlace) => fs.rmSync(path.join(directory, file));
  return { directory, add, find, remove };
}

for (const { format } of compressions) {
  test(`kept original: a response is its own original, and a revisit names it (${format})`, async (t) => {
    const { add, find } = archiveOf(t, format);
    const first = add({ url }, bytes('the same'));
    const original = {
      ...{ payload: first.payload!, url, date: '2026-01-02T03:04:05Z' },
      file: first.file,
    };
    assert.deepEqual(await find(first), original);
    const later = { startedAt: Date.UTC(2026, 0, 3), url: 'http://example.org/~ann/' };
    const second = add(later, bytes('the same'));
    assert.deepEqual(await find(second), original, 'from an equal payload');
    const third = add({ ...later, status: 304, previous: original }, bytes(''));
    assert.equal(third.payload, first.payload);
    assert.deepEqual(await find(third), original, 'from a 304');
  });

  test(`kept original: there is none if its file or that of the revisit is deleted (${format})`, async (t) => {
    const { add, find, remove } = archiveOf(t, format);
    const [first, second, third] = [1, 2, 3].map(() => add({ url }, bytes('the same')));
    remove(second!);
    assert.equal(await find(second!), null);
    assert.equal((await find(third!))?.file, first!.file);
    remove(first!);
    assert.equal(await find(third!), null);
  });

  test(`kept original: a record of another agent is none, whatever the directory has (${format})`, async (t) => {
    const { add, find, directory } = archiveOf(t, format);
    const first = add({ url }, bytes('the same'));
    assert.equal(await find(first, 'a2'), null);
    assert.equal(await find(first, 'a'), null);
    const outside = { ...first, file: path.join('..', path.basename(directory), first.file) };
    assert.equal(await find(outside), null);
  });

  test(`kept original: the record must have the payload of the row (${format})`, async (t) => {
    const { add, find } = archiveOf(t, format);
    const first = add({ url }, bytes('the same'));
    const payload = 'A'.repeat(32);
    assert.equal(await find({ ...first, payload }), null);
    for (const offset of [0, first.offset + 1, first.end, first.end + 10_000]) {
      assert.equal(await find({ ...first, offset }), null, String(offset));
    }
    const cut = add({ url, truncated: 'length' }, bytes('the same'));
    assert.equal(cut.payload, undefined);
    assert.equal(await find({ ...cut, payload: first.payload! }), null);
  });

  test(`kept original: the head of a record is found before any body (${format})`, async (t) => {
    const { add, find } = archiveOf(t, format);
    const bodies = {
      none: bytes('.'),
      repeated: new Uint8Array(4_000_000),
      text: bytes(randomBytes(300_000).toString('base64')),
      random: randomBytes(2_000_000),
    };
    const long = `http://example.org/?${randomBytes(1000).toString('hex')}`;
    for (const [what, body] of Object.entries(bodies)) {
      const place = add({ url: `${long}${what}` }, body);
      assert.deepEqual((await find(place))?.url, `${long}${what}`);
    }
  });
}

test('kept original: a revisit of an earlier build, without the file, leads to none', async (t) => {
  const { add, find, directory } = archiveOf(t, 'gzip');
  add({ url }, bytes('the same'));
  const { file, offset, payload } = add({ url }, bytes('the same'));
  const whole = fs.readFileSync(path.join(directory, file));
  const record = gunzipSync(whole.subarray(offset)).toString('latin1');
  const old = record.replace(/WARC-Refers-To-Filename: .*\r\n/, '');
  assert.notEqual(old, record);
  const bytesOld = Buffer.concat([whole.subarray(0, offset), gzipSync(Buffer.from(old, 'latin1'))]);
  fs.writeFileSync(path.join(directory, file), bytesOld);
  assert.equal(await find({ file, offset, end: 0, indexEnd: 0, payload: payload! }), null);
});
