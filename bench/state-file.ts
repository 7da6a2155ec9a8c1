// Creates a state file as a crawl of the given size would leave it, by SQL in some minutes instead
// of a crawl of some days. All pages of the web are known, the first ones of each host are fetched,
// the others queued. Rows come in the order in which visits would find them, some of each host at a
// time, so the file has as many gaps as a real one. `state.ts` runs it:
// node bench/state-file.ts DIRECTORY CRAWL HOSTS PAGES FETCHED PORT

import { UrlIds } from '../agent/storage/encoding/url-ids.ts';
import { openState } from '../agent/storage/file/database.ts';
import { hostName, pathOf } from './state-web.ts';

interface StateSize {
  readonly hosts: number;
  readonly pages: number;
  /** How many of `pages` are already fetched. */
  readonly fetched: number;
  readonly port: number;
}

/** The counter of a crawl begins with its start: Unix milliseconds × 1024. */
const first = 1_790_000_000_000 * 1024;
/** How often each host is found again while it is filled. */
const ROUNDS = 10;
/** Memory for SQLite while it fills the file. */
const CACHE_KIB = 1024 * 1024;

const URLS = `INSERT INTO urls (id, key, state, depth, found, done, referrer)
  SELECT (h.number << 28) + p.slot, p.key, p.number < $fetched, min(p.number, 5),
    $first + (h.number * $pages + p.number) * 2,
    CASE WHEN p.number < $fetched THEN $first + 1 + (h.number * $pages + p.number) * 2 ELSE 0 END,
    (SELECT slot FROM made_pages WHERE number = max(p.number - 1, 0))
  FROM made_pages p CROSS JOIN host_rows h WHERE p.number % ${ROUNDS} = $round
  ORDER BY h.number, p.number`;

const RECORDS = `INSERT INTO page_records
    (id, status, content_type, bytes, digest, fetched_at, duration_ms)
  SELECT id, 200, 1, 5977, randomblob(32), 1790000000000 + (found - $first) % 1000000000, 12
  FROM urls WHERE state = 1`;

const COUNTERS = `UPDATE host_rows SET queued = $pages - $fetched, pages_done = $fetched,
  last_fetch_at = 1790000000000, last = $first + (number * $pages + $pages) * 2`;

/** Creates `directory/state.sqlite` of the agent `a1` of the crawl. */
function makeState(directory: string, crawl: string, size: StateSize): void {
  const opened = openState({ directory, crawl, agent: 'a1' });
  if (!opened.ok) throw new Error(opened.message);
  const { db, unlock } = opened;
  const { hosts, pages, fetched, port } = size;
  db.pragma('synchronous = OFF');
  db.pragma('journal_mode = OFF');
  db.pragma(`cache_size = -${CACHE_KIB}`);
  db.exec(
    `CREATE TEMP TABLE made_pages (number INTEGER PRIMARY KEY, key TEXT NOT NULL, slot INTEGER UNIQUE);
     INSERT INTO words VALUES (1, 'text/html; charset=utf-8')`,
  );
  const savePage = db.prepare<[number, string, number]>('INSERT INTO made_pages VALUES (?, ?, ?)');
  // For host 0, which has no URL yet: the id of a free place is its row id.
  const ids = new UrlIds(db);
  const saveHost = db.prepare<[number, string, string]>(
    'INSERT INTO host_rows (number, host, ip, owned) VALUES (?, ?, ?, 1)',
  );
  db.transaction(() => {
    for (let page = 0; page < pages; page++) {
      const key = `h:${port}${pathOf(page)}`;
      savePage.run(page, key, -1 - ids.find(0, key));
    }
    for (let host = 0; host < hosts; host++) saveHost.run(host, hostName(host), hostName(host));
    const urls = db.prepare(URLS);
    for (let round = 0; round < ROUNDS; round++) urls.run({ pages, fetched, round, first });
    db.prepare(RECORDS).run({ first });
    db.prepare(COUNTERS).run({ pages, fetched, first });
    const last = first + (hosts + 1) * pages * 2;
    db.prepare("INSERT OR REPLACE INTO meta VALUES ('n', ?)").run(last);
  })();
  db.pragma('journal_mode = WAL');
  db.close();
  unlock();
}

const [directory = '', crawl = '', ...numbers] = process.argv.slice(2);
const [hosts = 0, pages = 0, fetched = 0, port = 0] = numbers.map(Number);
makeState(directory, crawl, { hosts, pages, fetched, port });
