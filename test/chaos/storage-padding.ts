// Makes a state file too large for a complete check at a start. It runs in its own thread, because
// the test's process serves the web of the running agents and must not be blocked.

import fs from 'node:fs';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { WHOLE_BYTES_MAX } from '../../agent/storage/file/database.ts';

/** From the end of the file. All pages there belong to the padding. */
const INSIDE_BYTES = 100 * 4096;

/** Resolves to the offset of a page in the file that no agent ever reads. */
export async function enlarge(file: string): Promise<number> {
  const thread = new Worker(new URL(import.meta.url), { workerData: file });
  await new Promise((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
  });
  await thread.terminate();
  return fs.statSync(file).size - INSIDE_BYTES;
}

function pad(file: string): void {
  const db = new Database(file);
  db.pragma('journal_mode = DELETE');
  db.pragma('synchronous = OFF');
  const bytes = WHOLE_BYTES_MAX + 4096;
  db.exec(`CREATE TABLE padding (bytes BLOB); INSERT INTO padding VALUES (zeroblob(${bytes}))`);
  db.pragma('journal_mode = WAL');
  db.close();
}

if (!isMainThread) {
  pad(workerData as string);
  parentPort?.postMessage('done');
}
