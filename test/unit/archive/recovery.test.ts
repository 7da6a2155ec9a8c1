// Tests how a starting agent recovers its archive directory: which records it truncates, which
// files it deletes and which it leaves unchanged. Each case runs with one compression format and
// with a format that changes between files.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { ArchivePlace } from '../../../agent/archive/record/capture.ts';
import type { CompressionFormat } from '../../../agent/archive/record/compression.ts';
import { readFileName } from '../../../agent/archive/record/file-name.ts';
import { SeenPayloads } from '../../../agent/archive/record/seen-payloads.ts';
import { fillSeen, recoverArchive } from '../../../agent/archive/recovery.ts';
import { WarcWriter } from '../../../agent/archive/warc-writer.ts';
import { bytes, capture } from './captures.ts';
import { indexOf, readWarc } from './reading.ts';

/**
 * Writes one file for each number of pages, cycling through the formats; returns the places of all
 * pages.
 */
function archivedBy(
  formats: readonly CompressionFormat[],
  t: Pick<TestContext, 'after'>,
  pages: readonly number[],
): { directory: string; places: ArchivePlace[][] } {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-recovery-'));
  t.after(() => fs.rmSync(directory, { recursive: true }));
  let ids = 0;
  const seen = new SeenPayloads();
  const places = pages.map((count, file) => {
    const writer = new WarcWriter({
      directory,
      agent: 'a1',
      fileBytes: 1,
      compression: { format: formats[file % formats.length]!, level: 1 },
      durable: true,
      serial: file + 1,
      seen,
      about: [],
      now: () => 0,
      newId: () => String(++ids),
    });
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

const packings: readonly (readonly CompressionFormat[])[] = [
  ['gzip'],
  ['zstd'],
  ['gzip', 'zstd'],
  ['zstd', 'gzip'],
];

for (const formats of packings) {
  describe(`archive files of ${formats.join(', then ')}`, () => {
    const archived = (t: Pick<TestContext, 'after'>, ...pages: readonly number[]) =>
      archivedBy(formats, t, pages);

    test('recovery: leaves an archive unchanged that matches the state', (t) => {
      const { directory, places } = archived(t, 3, 2);
      const before = sizes(directory);
      const recovered = recoverArchive(directory, 'a1', places[1]![1]!);
      assert.deepEqual(recovered, { serial: 3, lost: null, notice: null });
      assert.deepEqual(sizes(directory), before);
    });

    test('recovery: keeps whole records that the state does not know, and removes a torn one', async (t) => {
      const { directory, places } = archived(t, 3, 3);
      const [known, second, third] = places[1]!;
      const file = path.join(directory, known!.file);
      fs.truncateSync(file, third!.end - 1);
      assert.deepEqual(recoverArchive(directory, 'a1', known!).lost, null);
      assert.equal(fs.statSync(file).size, second!.end);
      assert.equal(fs.readFileSync(indexOf(file), 'utf8').split('\n').length, 3);
      assert.equal((await readWarc(file)).length, 1 + 2 * 3);
    });

    test('recovery: keeps the records of the state if the index has lost their lines', (t) => {
      const { directory, places } = archived(t, 3);
      const [first, second] = places[0]!;
      const file = path.join(directory, first!.file);
      const [line] = fs.readFileSync(indexOf(file), 'utf8').split('\n');
      fs.writeFileSync(indexOf(file), `${line}\n`);
      recoverArchive(directory, 'a1', second!);
      assert.equal(fs.statSync(file).size, second!.end);
    });

    test('recovery: keeps a file that was begun after the last commit', (t) => {
      const { directory, places } = archived(t, 3, 2);
      const before = sizes(directory);
      recoverArchive(directory, 'a1', places[0]![2]!);
      assert.deepEqual(sizes(directory), before);
    });

    test('recovery: deletes no file when the state is an older copy', (t) => {
      const { directory, places } = archived(t, 3, 2, 2);
      const before = sizes(directory);
      const recovered = recoverArchive(directory, 'a1', places[0]![0]!);
      assert.deepEqual(recovered, { serial: 4, lost: null, notice: null });
      assert.deepEqual(sizes(directory), before);
    });

    test('recovery: without a position from the state, keeps whole records and removes a torn one', async (t) => {
      const { directory, places } = archived(t, 4);
      const file = path.join(directory, places[0]![0]!.file);
      const { end } = places[0]![2]!;
      for (let at = end; at < places[0]![3]!.end; at += 50) {
        const whole = fs.readFileSync(file);
        const index = fs.readFileSync(indexOf(file));
        fs.truncateSync(file, at);
        recoverArchive(directory, 'a1', null);
        assert.equal(fs.statSync(file).size, end);
        assert.equal((await readWarc(file)).length, 1 + 3 * 3);
        fs.writeFileSync(file, whole);
        fs.writeFileSync(indexOf(file), index);
      }
    });

    test('recovery: gives the same result when the index is already sorted', async (t) => {
      for (const known of [0, null]) {
        const { directory, places } = archived(t, 4);
        const file = path.join(directory, places[0]![0]!.file);
        const lines = fs.readFileSync(indexOf(file), 'utf8').trim().split('\n');
        // Reversed, so that the line of the last record comes first.
        fs.writeFileSync(indexOf(file), `${lines.toReversed().join('\n')}\n`);
        const third = places[0]![2]!;
        fs.truncateSync(file, places[0]![3]!.end - 1);
        recoverArchive(directory, 'a1', known === null ? null : places[0]![known]!);
        assert.equal(fs.statSync(file).size, third.end);
        const left = fs.readFileSync(indexOf(file), 'utf8').trim().split('\n');
        assert.deepEqual(left, lines.slice(0, 3).toSorted());
        assert.equal((await readWarc(file)).length, 1 + 3 * 3);
      }
    });

    test('recovery: leaves a large file unchanged when its index is missing', (t) => {
      const { directory, places } = archived(t, 1);
      const file = path.join(directory, places[0]![0]!.file);
      fs.rmSync(indexOf(file));
      fs.appendFileSync(file, Buffer.alloc(100_000));
      const { size } = fs.statSync(file);
      assert.equal(recoverArchive(directory, 'a1', null).notice, null);
      const last = { ...places[0]![0]!, end: size + 1 };
      const { notice } = recoverArchive(directory, 'a1', last);
      assert.match(notice ?? '', /its index has no whole record, so it stays as it is, and/);
      assert.equal(fs.statSync(file).size, size);
    });

    test('recovery: does not reuse the serials of finished files that were moved away', (t) => {
      const { directory, places } = archived(t, 2, 2);
      for (const name of fs.readdirSync(directory)) fs.rmSync(path.join(directory, name));
      const { serial, lost, notice } = recoverArchive(directory, 'a1', places[1]![1]!);
      assert.equal(serial, 3);
      assert.equal(lost, null);
      assert.match(notice!, /is no longer in the archive/);
    });

    test('recovery: ignores the files of other programs', (t) => {
      const { directory } = archived(t, 1);
      const names = ['a10-20260102000000-00009.warc.gz', 'notes.txt', 'a1-x.warc.gz'];
      names.push('a1-20260102000000-00009.warc', 'a1-20260102000000-00009.warc.zst.part');
      for (const name of names) {
        fs.writeFileSync(path.join(directory, name), 'x');
        assert.equal(readFileName('a1', name), null);
      }
      assert.equal(recoverArchive(directory, 'a1', null).serial, 2);
    });

    test('recovery: loads the payloads of earlier runs, and records revisits under their originals', (t) => {
      const { directory, places } = archived(t, 2, 1);
      const seen = new SeenPayloads();
      fillSeen(directory, 'a1', seen);
      const index = fs.readFileSync(path.join(directory, indexOf(places[0]![0]!.file)), 'utf8');
      const [digest] = /(?<="digest":")\w+/.exec(index)!;
      assert.deepEqual(
        seen.find(digest, () => true),
        {
          url: 'http://h.example/0/0',
          date: '2026-01-02T03:04:05Z',
          file: places[0]![0]!.file,
        },
      );
      const few = new SeenPayloads(1);
      fillSeen(directory, 'a1', few);
      assert.equal(
        few.find(digest, () => true),
        undefined,
        'the newest payloads are kept',
      );
    });
  });
}
