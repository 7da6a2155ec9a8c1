// A crawl replayed from its archives, as a user's tools would: every file is read by warcio to its
// last record and judged byte by byte, every response has its line in the index, and a page comes
// from the place that its row names, a revisit from the record that it refers to. For the tests
// that compare the outcome with what the server had.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { readCdxjLine } from '../../../agent/archive/record/cdxj.ts';
import { packedIn } from './packed.ts';
import { assertDigests, indexOf, type ReadRecord, readWarc } from './reading.ts';

/** Of a row of the view `pages` what a replay needs. */
export interface ArchivedPage {
  readonly url: string;
  readonly fetch_url: string;
  readonly status: number;
  readonly warc_file: string | null;
  readonly warc_offset: number | null;
}

/** The columns of {@link ArchivedPage}, for a query. */
export const archivedPageColumns = 'url, fetch_url, status, warc_file, warc_offset';

/** All archives below a data directory, held in memory. */
export class Replay {
  /** Responses and revisits, by file and offset. */
  readonly #exchanges = new Map<string, ReadRecord>();
  /** Responses by URL, payload and time: what a revisit names. */
  readonly #responses = new Map<string, ReadRecord>();
  #files = 0;

  /** Fails where a file is not sound, or its index does not say what is in it. */
  static async of(dataDir: string): Promise<Replay> {
    const replay = new Replay();
    for (const file of fs.globSync('*/warc/*.warc.{gz,zst}', { cwd: dataDir })) {
      await replay.#add(path.join(dataDir, file));
    }
    return replay;
  }

  async #add(file: string): Promise<void> {
    const name = path.basename(file);
    const records = await readWarc(file);
    assert.equal(assertDigests(file), records.length);
    const packed = packedIn(file, fs.readFileSync(file));
    const lengths = new Map(packed.map(({ start, end }) => [start, end - start]));
    const indexed: string[] = [];
    for (const record of records) {
      const { type, headers, offset } = record;
      if (type !== 'response' && type !== 'revisit') continue;
      this.#exchanges.set(`${name} ${offset}`, record);
      if (type === 'response') this.#responses.set(keyOf(headers, 'target-uri', 'date'), record);
      indexed.push(`${headers['warc-target-uri']} ${name} ${offset} ${lengths.get(offset)}`);
    }
    const lines = fs.readFileSync(indexOf(file), 'utf8').trim().split('\n');
    const named = lines
      .map(readCdxjLine)
      .map((e) => `${e?.url} ${e?.filename} ${e?.offset} ${e?.length}`);
    // The index is in the order of its keys once the file has ended, else in that of the records.
    assert.deepEqual(named.sort(), indexed.sort(), `the index of ${name}`);
    this.#files++;
  }

  get files(): number {
    return this.#files;
  }

  /** A URL for each request that was answered, robots.txt among them. */
  get uris(): string[] {
    return [...this.#exchanges.values()].map(({ headers }) => headers['warc-target-uri']!);
  }

  /** Of how many exchanges only the head is there, because the payload was before. */
  get revisits(): number {
    return [...this.#exchanges.values()].filter(({ type }) => type === 'revisit').length;
  }

  /** Of how many responses the server sent the body compressed, which is how it is stored. */
  get compressed(): number {
    return [...this.#responses.values()].filter(({ fields }) => fields['content-encoding']).length;
  }

  /** The body that the page's server sent, without its content coding. Fails where it is not there. */
  bodyOf(page: ArchivedPage): Buffer {
    const at = `${page.warc_file} ${page.warc_offset}`;
    const record = this.#exchanges.get(at);
    assert.ok(record, `${page.url} is at ${at}`);
    assert.equal(record.headers['warc-target-uri'], page.fetch_url);
    assert.equal(record.firstLine?.split(' ')[1], String(page.status), page.url);
    if (record.type === 'response') return record.content;
    const key = keyOf(record.headers, 'refers-to-target-uri', 'refers-to-date');
    const original = this.#responses.get(key);
    assert.ok(original, `the original of ${page.url}: ${key}`);
    return original.content;
  }
}

function keyOf(headers: ReadRecord['headers'], url: string, date: string): string {
  return [url, date, 'payload-digest'].map((name) => headers[`warc-${name}`]).join(' ');
}
