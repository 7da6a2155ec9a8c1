// A separate process that opens a state directory. `open` reports the outcome and ends, `hold`
// keeps it open until it is killed, and `write` writes turns until it is killed and reports each
// commit. With a user it gives up root once all code is loaded, so the user need not be able to
// read the checkout.

import { writeSync } from 'node:fs';
import Database from 'better-sqlite3';
import { openState } from '../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../agent/storage/sqlite-store.ts';

const [mode, directory, durability, user] = process.argv.slice(2);
if (directory === undefined) {
  throw new Error('usage: state-process.ts MODE DIRECTORY DURABILITY [USER]');
}
if (user !== undefined) {
  // Loads the native module.
  new Database(':memory:').close();
  process.setgroups?.([]);
  process.setgid?.(Number(user));
  process.setuid?.(Number(user));
}

const opened = openState({ directory, crawl: 'c', agent: 'a' });
tell(opened.ok ? { ok: true } : { ok: false, code: opened.code, message: opened.message });
if (opened.ok && mode === 'hold') setInterval(() => {}, 1000);
if (opened.ok && mode === 'write') {
  const chosen = durability === 'power' ? 'power' : 'process';
  write(new SqliteStore(opened.db, { durability: chosen, hostDelayMs: 1000 }));
}

/** Turn k inserts ten URLs, finishes one of them, and adds one URL for another agent. */
function write(store: SqliteStore): never {
  for (let k = 0; ; k++) {
    const host = `h${k % 5}.test`;
    const url = (n: number) => `http://${host}/${k}/${n}`;
    store.begin();
    for (let n = 0; n < 10; n++) store.enqueue(host, { url: url(n), depth: n }, null);
    const { number } = store.host(host);
    store.recordPage(number, {
      ...{ url: url(3), status: 200, error: null, contentType: null, bytes: 1, digest: null },
      ...{ fetchedAt: k, durationMs: 1, redirectTo: null, attempts: 1 },
    });
    store.skip(number, url(5), 'robots');
    store.addToOutbox('x.test', 'x', { url: `http://x.test/${k}`, depth: 0 });
    store.commit(k % 3 === 0);
    tell({ committed: k });
  }
}

/** Writes synchronously, so everything that was reported was done before. */
function tell(what: object): void {
  writeSync(1, `${JSON.stringify(what)}\n`);
}
