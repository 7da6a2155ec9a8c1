// Replays a crawl from its archives, as a user's tools would. warcio reads every file to its last
// record, every response has its line in the index, and each page is read from the place that its
// row names; a revisit is resolved to the record that it refers to. Tests compare the result with
// what the server sent.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { readCdxjLine } from '../../../agent/archive/record/cdxj.ts';
import { packedIn } from './packed.ts';
import { assertDigests, indexOf, type ReadRecord, readWarc } from './reading.ts';

/** The columns of the view `pages` that a replay needs. */
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
  /** Responses by URL, payload and time, which are the values that a revisit names. */
  readonly #responses = new Map<string, ReadRecord>();
  #files = 0;

  /** Fails if a file is damaged, or if its index does not match its records. */
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
    // The index is sorted by key once the file has ended; before that it has the order of the
    // records.
    assert.deepEqual(named.sort(), indexed.sort(), `the index of ${name}`);
    this.#files++;
  }

  get files(): number {
    return this.#files;
  }

  /** The URL of each request that was answered, including robots.txt. */
  get uris(): string[] {
    return [...this.#exchanges.values()].map(({ headers }) => headers['warc-target-uri']!);
  }

  /** The number of exchanges stored without a payload because it had been stored before. */
  get revisits(): number {
    return [...this.#exchanges.values()].filter(({ type }) => type === 'revisit').length;
  }

  /** The number of responses that the server sent compressed; their bodies are stored as sent. */
  get compressed(): number {
    return [...this.#responses.values()].filter(({ fields }) => fields['content-encoding']).length;
  }

  /**
   * The body that the server sent, with its content coding removed. Fails if it is not in the
   * archive.
   */
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
