// Reads back what the archive writes, with warcio and with independent code: every record, digests,
// offsets, revisits, truncation, and the index, which must equal the one that warcio builds.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { CDXIndexer } from 'warcio';
import type { ArchivePlace, Capture } from '../../../agent/archive/record/capture.ts';
import { readCdxjLine, surtOf } from '../../../agent/archive/record/cdxj.ts';
import { SeenPayloads } from '../../../agent/archive/record/seen-payloads.ts';
import { WarcWriter, type WriterOptions } from '../../../agent/archive/warc-writer.ts';
import { bytes, capture } from './captures.ts';
import { framesIn } from './packed.ts';
import { assertDigests, readWarc, recordAt, sha1 } from './reading.ts';

const gzip = { format: 'gzip', level: 1 } as const;
const zstd = { format: 'zstd', level: 3 } as const;
const kinds = [
  { compression: gzip, suffix: '.warc.gz' },
  { compression: zstd, suffix: '.warc.zst' },
] as const;

function scratch(t: Pick<TestContext, 'after'>): string {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-warc-'));
  t.after(() => fs.rmSync(directory, { recursive: true }));
  return directory;
}

function writerIn(directory: string, more: Partial<WriterOptions> = {}): WarcWriter {
  let ids = 0;
  return new WarcWriter({
    directory,
    agent: 'a1',
    fileBytes: 1024 ** 3,
    compression: gzip,
    durable: false,
    serial: 1,
    seen: new SeenPayloads(),
    about: [['software', 'ubiring']],
    now: () => Date.UTC(2026, 0, 2),
    newId: () => `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`,
    ...more,
  });
}

function filesOf(directory: string, suffix: string): string[] {
  const names = fs.readdirSync(directory).filter((name) => name.endsWith(suffix));
  return names.sort().map((name) => path.join(directory, name));
}

for (const { compression, suffix } of kinds) {
  test(`${suffix}: a capture is written as metadata, request and response, which warcio reads fully`, async (t) => {
    const directory = scratch(t);
    const writer = writerIn(directory, { compression });
    const place = writer.append(capture(), bytes('<p>hello'));
    writer.flush();
    const [file] = filesOf(directory, suffix);
    assert.equal(path.basename(file!), `a1-20260102000000-00001${suffix}`);
    assert.equal(place.file, path.basename(file!));
    assert.equal(place.end, fs.statSync(file!).size);
    const [warcinfo, metadata, request, response] = await readWarc(file!);
    assert.equal(warcinfo?.type, 'warcinfo');
    assert.match(String(warcinfo?.payload), /^software: ubiring\r\n$/);
    assert.equal(metadata?.type, 'metadata');
    assert.equal(String(metadata?.payload), 'via: http://example.org/\r\ndepth: 1\r\n');
    assert.equal(request?.type, 'request');
    assert.equal(request?.firstLine, 'GET /a?b=2&a=1 HTTP/1.1');
    assert.equal(response?.type, 'response');
    assert.equal(response?.firstLine, 'HTTP/1.1 200 OK');
    assert.equal(String(response?.content), '<p>hello');
    assert.equal(response?.offset, place.offset);
    const { headers } = response!;
    assert.equal(headers['warc-target-uri'], 'http://www.example.org/a?b=2&a=1');
    assert.equal(headers['warc-date'], '2026-01-02T03:04:05Z');
    assert.equal(headers['warc-ip-address'], '192.0.2.1');
    assert.equal(headers['warc-payload-digest'], `sha1:${sha1(bytes('<p>hello'))}`);
    assert.equal(headers['warc-warcinfo-id'], warcinfo?.headers['warc-record-id']);
    for (const beside of [metadata, request]) {
      assert.equal(beside?.headers['warc-concurrent-to'], headers['warc-record-id']);
    }
    assert.equal(assertDigests(file!), 4);
  });

  test(`${suffix}: an equal payload is written as a revisit of the first`, async (t) => {
    const directory = scratch(t);
    const writer = writerIn(directory, { compression });
    const first = capture({ url: 'http://example.org/first' });
    const later = { startedAt: Date.UTC(2026, 0, 3), url: 'http://example.org/second' };
    writer.append(first, bytes('the same'));
    const { offset, file } = writer.append(capture(later), bytes('the same'));
    writer.append(capture({ url: 'http://example.org/empty' }), bytes(''));
    writer.append(capture({ url: 'http://example.org/empty-too' }), bytes(''));
    const cut = { truncated: 'length' as const, url: 'http://example.org/cut' };
    writer.append(capture(cut), bytes('the same'));
    writer.flush();
    const whole = await readWarc(path.join(directory, file));
    assert.deepEqual(
      whole.map(({ type }) => type).filter((type) => /^re(sponse|visit)$/.test(type)),
      ['response', 'revisit', 'response', 'response', 'response'],
    );
    const { headers, payload, firstLine } = await recordAt(path.join(directory, file), offset);
    assert.equal(headers['warc-refers-to-target-uri'], 'http://example.org/first');
    assert.equal(headers['warc-refers-to-date'], '2026-01-02T03:04:05Z');
    assert.equal(headers['warc-refers-to-filename'], file);
    assert.match(headers['warc-profile']!, /\/warc\/1\.1\/revisit\/identical-payload-digest$/);
    assert.equal(headers['warc-payload-digest'], `sha1:${sha1(bytes('the same'))}`);
    assert.equal(firstLine, 'HTTP/1.1 200 OK');
    assert.equal(payload.length, 0);
    assert.equal(whole.at(-1)?.headers['warc-truncated'], 'length');
    assertDigests(path.join(directory, file));
  });

  test(`${suffix}: every line of the index points to its record`, async (t) => {
    const directory = scratch(t);
    const writer = writerIn(directory, { fileBytes: 2000, compression });
    for (let k = 0; k < 12; k++) {
      if (writer.isFull) {
        writer.flush();
        writer.rotate();
      }
      writer.append(capture({ url: `http://example.org/${k}` }), bytes(`page ${k}`));
    }
    writer.flush();
    const indexes = filesOf(directory, '.cdxj');
    assert.ok(indexes.length > 2, 'files are rotated at their maximum size');
    const found: string[] = [];
    for (const index of indexes) {
      for (const line of fs.readFileSync(index, 'utf8').trim().split('\n')) {
        const entry = readCdxjLine(line);
        assert.ok(entry);
        const { payload } = await recordAt(path.join(directory, entry.filename), entry.offset);
        assert.equal(entry.digest, sha1(payload));
        found.push(`${entry.url} ${payload}`);
      }
    }
    assert.deepEqual(
      found,
      Array.from({ length: 12 }, (_, k) => `http://example.org/${k} page ${k}`),
    );
    for (const file of filesOf(directory, suffix)) assertDigests(file);
  });

  test(`${suffix}: any bytes are read back unchanged`, async (t) => {
    const directory = scratch(t);
    let serial = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 8 }),
        async (list) => {
          const writer = writerIn(directory, { serial: ++serial, compression });
          const places = list.map((body, k) =>
            writer.append(capture({ url: `http://h.example/${k}`, truncated: 'time' }), body),
          );
          writer.flush();
          for (const [k, { file, offset }] of places.entries()) {
            const { payload } = await recordAt(path.join(directory, file), offset);
            assert.deepEqual(payload, Buffer.from(list[k]!));
          }
        },
      ),
      { numRuns: 25 },
    );
  });
}

test('.warc.zst: writes one frame per record, with a size, a checksum and no dictionary', (t) => {
  const directory = scratch(t);
  const long = Buffer.alloc(9 * 1024 ** 2, 'a body longer than the window ');
  const bodies = [bytes(''), bytes('x'), Buffer.alloc(300, 'short '), Buffer.alloc(70_000), long];
  for (const [serial, level] of [1, 3, 19].entries()) {
    const writer = writerIn(directory, { compression: { format: 'zstd', level }, serial });
    const places = bodies.map((body, k) =>
      writer.append(capture({ url: `http://h.example/${k}` }), body),
    );
    writer.flush();
    const frames = framesIn(fs.readFileSync(path.join(directory, places[0]!.file)));
    assert.equal(frames.length, 1 + 3 * bodies.length);
    const starts = frames.map(({ start }) => start);
    assert.ok(places.every(({ offset }) => starts.includes(offset)));
    const windows = frames.map(({ windowBytes }) => windowBytes);
    assert.ok(Math.max(...windows) <= 8 * 1024 ** 2, `level ${level}: ${Math.max(...windows)}`);
  }
});

test('.warc.zst: contains only the frames of records, whatever their sizes', (t) => {
  const directory = scratch(t);
  const writer = writerIn(directory, { compression: zstd });
  // These bytes do not compress, so one of the frames exactly fills Node's usual buffer of 16 KiB.
  const noise = createHash('shake256', { outputLength: 16 * 1024 })
    .update('noise')
    .digest();
  const bodies = Array.from({ length: 1024 }, (_, k) => noise.subarray(k));
  const lengths = bodies.map((body) => {
    const { offset, end } = writer.append(capture(), body);
    return end - offset;
  });
  writer.flush();
  const [file] = filesOf(directory, '.warc.zst');
  const frames = framesIn(fs.readFileSync(file!));
  assert.equal(frames.length, 1 + 3 * bodies.length);
  assert.ok(frames.every(({ contentBytes }) => contentBytes > 0));
  assert.ok(lengths.includes(16 * 1024), 'one frame exactly fills the buffer');
});

test('.warc.zst: a flipped bit is detected, or does not change what is read', async (t) => {
  const directory = scratch(t);
  const writer = writerIn(directory, { compression: zstd });
  const { file, offset, end } = writer.append(capture(), bytes('a body '.repeat(20)));
  writer.flush();
  const whole = path.join(directory, file);
  const sound = fs.readFileSync(whole);
  const record = await recordAt(whole, offset);
  let unnoticed = 0;
  for (let at = offset; at < end; at++) {
    const turned = Buffer.from(sound);
    turned[at]! ^= 1 << (at % 8);
    fs.writeFileSync(whole, turned);
    const read = await recordAt(whole, offset).catch(() => null);
    if (read === null) continue;
    // A few bits of a zstd frame are unused.
    assert.deepEqual(read, record, `byte ${at}`);
    unnoticed++;
  }
  assert.ok(unnoticed < 5, `${unnoticed} of ${end - offset} bytes`);
});

test('archive: the index is the same for both compression formats, except for positions', (t) => {
  const [one, other] = kinds.map(({ compression, suffix }) => {
    const directory = scratch(t);
    const writer = writerIn(directory, { compression });
    for (let k = 0; k < 8; k++) {
      writer.append(capture({ url: `http://h.example/${k}` }), bytes(`page ${k % 3}`));
    }
    writer.flush();
    const lines = fs.readFileSync(filesOf(directory, '.cdxj')[0]!, 'utf8').trim().split('\n');
    return lines.map((line) => {
      const entry = readCdxjLine(line);
      assert.ok(entry?.filename.endsWith(suffix));
      return { ...entry, filename: '', offset: 0, length: 0 };
    });
  });
  assert.equal(one?.length, 8);
  assert.deepEqual(other, one);
});

test('archive: the index equals, line by line, the one that warcio builds from the same file', async (t) => {
  const directory = scratch(t);
  const writer = writerIn(directory);
  const urls = [
    'http://www.example.org/A/b?z=1&a=2',
    'https://sub.example.org:8443/robots.txt',
    'http://127.0.0.1:8080/',
    'http://xn--bcher-kva.example/%C3%A4?q=%20',
  ];
  for (const [k, url] of urls.entries()) writer.append(capture({ url }), bytes(`page ${k % 3}`));
  writer.append(capture({ contentType: null, status: 404, ...notFound }), bytes('gone'));
  writer.flush();
  const [file] = filesOf(directory, '.warc.gz');
  const indexer = new CDXIndexer({ format: 'cdxj' });
  let expected = '';
  const sources = [{ filename: path.basename(file!), reader: fs.createReadStream(file!) }];
  for await (const cdx of indexer.iterIndex(sources)) expected += indexer.serializeCDXJ(cdx);
  const [index] = filesOf(directory, '.cdxj');
  assert.deepEqual(
    fs.readFileSync(index!, 'utf8').trim().split('\n').map(parsed),
    expected.trim().split('\n').map(parsed),
  );
});

const notFound = { responseHead: 'HTTP/1.1 404 Not Found\r\n\r\n' };

/** Parses a line, because the order of the JSON keys does not matter. */
function parsed(line: string): unknown {
  const [key, timestamp, ...json] = line.split(' ');
  return { key, timestamp, ...(JSON.parse(json.join(' ')) as object) };
}

test('archive: line ends within a field are replaced, so it stays one field', async (t) => {
  const directory = scratch(t);
  const writer = writerIn(directory);
  const metadata = [['via', 'http://x/\r\nWARC-Type: response']] as const;
  writer.append(capture({ metadata }), bytes('x'));
  writer.flush();
  const [, record] = await readWarc(filesOf(directory, '.warc.gz')[0]!);
  assert.equal(String(record?.payload), 'via: http://x/ WARC-Type: response\r\n');
});

test('archive: a record whose file was deleted is not revisited', async (t) => {
  const directory = scratch(t);
  const writer = writerIn(directory);
  const add = (part: Partial<Capture>, text: string) => {
    const place = writer.append(capture(part), bytes(text));
    writer.flush();
    writer.rotate();
    return place;
  };
  const typeOf = async ({ file, offset }: ArchivePlace) =>
    (await recordAt(path.join(directory, file), offset)).type;
  const { file, payload } = add({}, 'the same');
  const { url } = capture();
  const previous = { payload: payload!, url, date: '2026-01-02T03:04:05Z', file };
  assert.equal(await typeOf(add({ previous }, 'the same')), 'revisit');
  assert.equal(await typeOf(add({ previous, status: 304 }, '')), 'revisit');
  fs.rmSync(path.join(directory, file));
  const unmodified = add({ previous, status: 304 }, '');
  assert.equal(await typeOf(unmodified), 'response');
  assert.equal(unmodified.payload, undefined, 'the next request is without conditions');
  const whole = add({ previous }, 'the same');
  assert.equal(await typeOf(whole), 'response');
  const again = add({}, 'the same');
  const { type, headers } = await recordAt(path.join(directory, again.file), again.offset);
  assert.deepEqual([type, headers['warc-refers-to-filename']], ['revisit', whole.file]);
});

test('archive: never overwrites an existing file', (t) => {
  const directory = scratch(t);
  const name = path.join(directory, 'a1-20260102000000-00001.warc.gz');
  fs.writeFileSync(name, 'precious');
  assert.throws(() => writerIn(directory).append(capture(), bytes('x')), { code: 'EEXIST' });
  assert.equal(fs.readFileSync(name, 'utf8'), 'precious');
});

test('archive: the number of seen payloads is bounded, and the oldest is dropped', () => {
  const seen = new SeenPayloads(2);
  for (const digest of ['A', 'B', 'C']) seen.add(digest, { url: digest, date: '', file: 'f' });
  const found = ['A', 'B', 'C'].map((digest) => seen.find(digest, () => true)?.url);
  assert.deepEqual(found, [undefined, 'B', 'C']);
});

test('archive: the sort key of a path has no slash at its end, as pywb searches for it', () => {
  const key = (url: string) => surtOf(`http://www.archive.org${url}`);
  assert.deepEqual(['/big/', '/', '/goo/?b&a=2'].map(key), [
    'org,archive)/big',
    'org,archive)/',
    'org,archive)/goo?a=2&b',
  ]);
});

test('archive: a text that is not a web address is its own sort key', () => {
  assert.equal(surtOf('urn:x:Y'), 'urn:x:Y');
  assert.equal(surtOf('http://'), 'http://');
});

test('archive: sorts the index bytewise when the file ends', (t) => {
  const directory = scratch(t);
  const writer = writerIn(directory);
  for (const at of ['z', 'b', '%C3%BC', 'a/', 'B']) {
    writer.append(capture({ url: `http://h.example/${at}` }), bytes(at));
  }
  writer.flush();
  const [index] = filesOf(directory, '.cdxj');
  const before = fs.readFileSync(index!, 'utf8').trim().split('\n');
  writer.rotate();
  const after = fs.readFileSync(index!, 'utf8').trim().split('\n');
  assert.deepEqual(after, before.toSorted());
  assert.notDeepEqual(after, before);
  assert.equal(fs.readdirSync(directory).length, 2);
});
