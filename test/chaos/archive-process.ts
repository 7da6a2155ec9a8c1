// An agent reduced to its archive and its state, for tests that kill it. It archives pages, some of
// them concurrently, and commits the row of each once its place is known. It reports the first
// commit and continues until it is killed. Arguments: directory, maximum bytes of an archive file,
// seed, gzip or zstd.

import { join } from 'node:path';
import { Archive } from '../../agent/archive/archive.ts';
import { openState } from '../../agent/storage/file/database.ts';
import { SqliteStore } from '../../agent/storage/sqlite-store.ts';
import { capture } from '../unit/archive/captures.ts';

const [directory = '', fileBytes = '0', seed = '0', format] = process.argv.slice(2);
const opened = openState({ directory, crawl: 'kill', agent: 'a1' });
if (!opened.ok) throw new Error(opened.message);
const store = new SqliteStore(opened.db, { durability: 'process', hostDelayMs: 0 });
const archive = new Archive({
  directory: join(directory, 'warc'),
  agent: 'a1',
  fileBytes: Number(fileBytes),
  compression: format === 'zstd' ? { format, level: 3 } : { format: 'gzip', level: 1 },
  durable: false,
  about: [['software', 'test']],
  known: store.archiveEnd(),
  onFailure: (error) => {
    throw error;
  },
});
const { lost } = archive.recovered;
store.begin();
const reopened = lost === null ? 0 : store.reopenPages(lost.file, lost.from);
store.commit(false);
let said = false;

/** Pages in progress at the same time, like a few visits. */
const visits = 6;

async function visit(k: number): Promise<void> {
  for (let page = 0; ; page++) {
    const url = `http://h.example/${seed}-${k}-${page}`;
    // Some pages are equal, some are large.
    const size = page % 5 === 0 ? 40_000 : 200;
    const text = page % 7 === 0 ? 'alike' : `${url} `.repeat(size / url.length);
    const place = await archive.append(capture({ url }), [Buffer.from(text)]);
    if (place === null) return;
    store.begin();
    store.enqueue('h.example', { url, depth: 0 }, null);
    store.noteArchived(place);
    store.recordPage(store.host('h.example').number, {
      url,
      status: 200,
      error: null,
      contentType: 'text/html',
      bytes: text.length,
      digest: null,
      fetchedAt: 0,
      durationMs: 0,
      redirectTo: null,
      attempts: 1,
      warcFile: place.file,
      warcOffset: place.offset,
    });
    store.commit(false);
    archive.confirm(place);
    if (!said) process.stdout.write(`${JSON.stringify({ reopened })}\n`);
    said = true;
  }
}

await Promise.all(Array.from({ length: visits }, (_, k) => visit(k)));
