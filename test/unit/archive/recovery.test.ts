// What a start makes of an archive directory, case by case, each set up by hand: cut, kept or
// left alone.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ArchivePlace } from '../../../agent/archive/capture.ts';
import { readFileName } from '../../../agent/archive/file-name.ts';
import { fillSeen, recoverArchive } from '../../../agent/archive/recovery.ts';
import { SeenPayloads } from '../../../agent/archive/seen-payloads.ts';
import { WarcWriter } from '../../../agent/archive/warc-writer.ts';
import { bytes, capture } from './captures.ts';
import { readWarc } from './reading.ts';

/** A directory with files of so many pages each; the places of all pages. */
function archived(
  t: Pick<TestContext, 'after'>,
  ...pages: readonly number[]
): { directory: string; places: ArchivePlace[][] } {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-recovery-'));
  t.after(() => fs.rmSync(directory, { recursive: true }));
  let ids = 0;
  const writer = new WarcWriter({
    directory,
    agent: 'a1',
    fileBytes: 1,
    gzipLevel: 1,
    durable: true,
    serial: 1,
    seen: new SeenPayloads(),
    about: [],
    now: () => 0,
    newId: () => String(++ids),
  });
  const places = pages.map((count, file) => {
    const made = Array.from({ length: count }, (_, k) =>
      writer.append(capture({ url: `http://h.example/${file}/${k}` }), bytes(`${file} ${k}`)),
    );
    writer.flush();
    writer.rotate();
    return made;
  });
  return { directory, places };
}

function sizes(directory: string): Record<string, number> {
  const names = fs.readdirSync(directory).sort();
  return Object.fromEntries(
    names.map((name) => [name, fs.statSync(path.join(directory, name)).size]),
  );
}

test('recovery: an archive that is as the state knows it stays as it is', (t) => {
  const { directory, places } = archived(t, 3, 2);
  const before = sizes(directory);
  const recovered = recoverArchive(directory, 'a1', places[1]![1]!);
  assert.deepEqual(recovered, { serial: 3, lost: null, notice: null });
  assert.deepEqual(sizes(directory), before);
});

test('recovery: whole records that the state does not know are cut off with their lines', async (t) => {
  const { directory, places } = archived(t, 3, 3);
  const known = places[1]![0]!;
  assert.deepEqual(recoverArchive(directory, 'a1', known).lost, null);
  const file = path.join(directory, known.file);
  assert.equal(fs.statSync(file).size, known.end);
  const index = file.replace('.warc.gz', '.cdxj');
  assert.equal(fs.readFileSync(index, 'utf8').split('\n').length, 2);
  assert.equal((await readWarc(file)).length, 4);
});

test('recovery: a file begun after the last commit goes as a whole', (t) => {
  const { directory, places } = archived(t, 3, 2);
  const [first] = places as [ArchivePlace[], ArchivePlace[]];
  recoverArchive(directory, 'a1', first[2]!);
  assert.deepEqual(Object.keys(sizes(directory)).length, 2);
  assert.ok(fs.existsSync(path.join(directory, first[0]!.file)));
});

test('recovery: a state of an earlier moment costs no file', (t) => {
  const { directory, places } = archived(t, 3, 2, 2);
  const before = sizes(directory);
  const recovered = recoverArchive(directory, 'a1', places[0]![0]!);
  assert.deepEqual(recovered, { serial: 4, lost: null, notice: null });
  assert.deepEqual(sizes(directory), before);
});

test('recovery: without a word of the state whole records stay, a torn one goes', async (t) => {
  const { directory, places } = archived(t, 4);
  const file = path.join(directory, places[0]![0]!.file);
  const { end } = places[0]![2]!;
  for (let at = end; at < places[0]![3]!.end; at += 50) {
    const whole = fs.readFileSync(file);
    const index = fs.readFileSync(file.replace('.warc.gz', '.cdxj'));
    fs.truncateSync(file, at);
    recoverArchive(directory, 'a1', null);
    assert.equal(fs.statSync(file).size, end);
    assert.equal((await readWarc(file)).length, 1 + 3 * 3);
    fs.writeFileSync(file, whole);
    fs.writeFileSync(file.replace('.warc.gz', '.cdxj'), index);
  }
});

test('recovery: a large file whose index is gone is left alone', (t) => {
  const { directory, places } = archived(t, 1);
  const file = path.join(directory, places[0]![0]!.file);
  fs.rmSync(file.replace('.warc.gz', '.cdxj'));
  fs.appendFileSync(file, Buffer.alloc(100_000));
  const { size } = fs.statSync(file);
  assert.equal(recoverArchive(directory, 'a1', null).notice, null);
  assert.equal(fs.statSync(file).size, size);
});

test('recovery: finished files may be moved away, and their serials are not given again', (t) => {
  const { directory, places } = archived(t, 2, 2);
  for (const name of fs.readdirSync(directory)) fs.rmSync(path.join(directory, name));
  const { serial, lost, notice } = recoverArchive(directory, 'a1', places[1]![1]!);
  assert.equal(serial, 3);
  assert.equal(lost, null);
  assert.match(notice!, /is not in the archive any more/);
});

test("recovery: other programs' files are nobody's concern", (t) => {
  const { directory } = archived(t, 1);
  for (const name of ['a10-20260102000000-00009.warc.gz', 'notes.txt', 'a1-x.warc.gz']) {
    fs.writeFileSync(path.join(directory, name), 'x');
    assert.equal(readFileName('a1', name), null);
  }
  assert.equal(recoverArchive(directory, 'a1', null).serial, 2);
});

test('recovery: payloads of earlier lives are known again, those of revisits by their originals', (t) => {
  const { directory, places } = archived(t, 2, 1);
  const seen = new SeenPayloads();
  fillSeen(directory, 'a1', seen);
  const index = fs.readFileSync(
    path.join(directory, places[0]![0]!.file.replace('.warc.gz', '.cdxj')),
    'utf8',
  );
  const [digest] = /(?<="digest":")\w+/.exec(index)!;
  assert.deepEqual(seen.find(digest), {
    url: 'http://h.example/0/0',
    date: '2026-01-02T03:04:05Z',
  });
  const few = new SeenPayloads(1);
  fillSeen(directory, 'a1', few);
  assert.equal(few.find(digest), undefined, 'the newest are kept');
});
