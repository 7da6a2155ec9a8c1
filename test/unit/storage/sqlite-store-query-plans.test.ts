// Tests that the statements for every link and page find their rows by an index, however large the
// tables are. The test records every statement that a busy store runs and inspects its query plan.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { MIGRATIONS } from '../../../agent/storage/schema/migrations.ts';
import { SqliteStore } from '../../../agent/storage/sqlite-store.ts';

const HOST = 'a.test';
const at = (n: number) => `http://${HOST}/${n}`;

/** Runs `act` and records its statements as text with their values. */
function statementsOf(act: (store: SqliteStore) => void): { db: Database.Database; ran: string[] } {
  const ran: string[] = [];
  let heard = false;
  const db = new Database(':memory:', { verbose: (sql) => heard && ran.push(String(sql)) });
  for (const step of MIGRATIONS) db.exec(step);
  const store = new SqliteStore(db, { durability: 'process', hostDelayMs: 1 });
  store.begin();
  for (let n = 0; n < 50; n++) store.enqueue(HOST, { url: at(n), depth: n % 3 }, null);
  for (let n = 0; n < 5; n++) store.addToOutbox('b.test', 'x', { url: `${n}`, depth: 0 });
  heard = true;
  act(store);
  heard = false;
  return { db, ran };
}

function planOf(db: Database.Database, sql: string): string {
  const rows = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[];
  return rows.map(({ detail }) => detail).join('; ');
}

const page = {
  status: 200,
  error: null,
  contentType: null,
  bytes: 0,
  digest: null,
  fetchedAt: 1,
  durationMs: 1,
  redirectTo: null,
  attempts: 1,
};

test('plans: no statement for a page scans a table or sorts', () => {
  const { db, ran } = statementsOf((store) => {
    const { number } = store.host(HOST);
    const end = { origin: null, as: { kind: 'skipped', reason: 'pages' } } as const;
    store.enqueue(HOST, { url: at(1), depth: 0, attempts: 1 }, null);
    store.enqueue('c.test', { url: 'http://c.test/', depth: 0 }, null);
    store.nextUrl(number, 5);
    store.nextUrl(number, 5, 'last');
    store.nextUrl(number, 5, 0.9);
    store.goodForm(number, at(1));
    store.nextUrlAt(number);
    store.requeue(number, at(1), { attempts: 1, failedSince: 5, notBefore: 9 });
    store.recordPage(number, { ...page, url: at(2) });
    store.settle(HOST, at(2));
    store.skip(number, at(3), 'robots');
    store.endQueued(number, end, 5, 2);
    store.rowEvents(HOST, 0, 3, 0);
    store.forgetMarksAbove('x', 5);
    store.robots(number, 'http://a.test');
    store.addToOutbox('b.test', 'x', { url: '1', depth: 0 });
    store.outboxOf('x', 3);
    store.outboxFirst();
    store.outboxAfter(0, 3);
    store.rerouteOutbox(1, 'y');
    store.removeFromOutbox([1]);
    store.unsettled(3);
    store.commit(false);
  });
  const judged = ran.filter((sql) => /^\s*(SELECT|UPDATE|DELETE|INSERT)/.test(sql));
  assert.ok(judged.length >= 20, judged.join('\n'));
  for (const sql of judged) {
    const plan = planOf(db, sql);
    const walk = plan.match(/SCAN (?!CONSTANT)(\w+)(?! USING INDEX unsettled)/)?.[0];
    const fine = walk === undefined || plan.includes('INDEX unsettled');
    assert.ok(fine && !plan.includes('TEMP B-TREE'), `${sql}\n${plan}`);
  }
});

test("plans: the sums over the agent's hosts are kept, not counted at each reading", () => {
  const changes: ((store: SqliteStore) => void)[] = [
    (store) => store.enqueue('c.test', { url: 'http://c.test/', depth: 0 }, null),
    (store) => store.recordPage(store.host(HOST).number, { ...page, url: at(2) }),
    (store) => store.skip(store.host('c.test').number, 'http://c.test/', 'robots'),
    (store) => store.setOwned(HOST, false),
    (store) => store.setOwned(HOST, true),
    (store) => store.deleteHost('c.test'),
  ];
  const sums: unknown[] = [];
  const { db, ran } = statementsOf((store) => {
    sums.push(store.owned());
    for (const change of changes) {
      change(store);
      sums.push(store.owned());
    }
    store.commit(false);
  });
  assert.deepEqual(sums, [
    { hosts: 1, hostsWithQueue: 1, queued: 50, pages: 0 },
    { hosts: 2, hostsWithQueue: 2, queued: 51, pages: 0 },
    { hosts: 2, hostsWithQueue: 2, queued: 50, pages: 1 },
    { hosts: 2, hostsWithQueue: 1, queued: 49, pages: 1 },
    { hosts: 1, hostsWithQueue: 0, queued: 0, pages: 0 },
    { hosts: 2, hostsWithQueue: 1, queued: 49, pages: 1 },
    { hosts: 1, hostsWithQueue: 1, queued: 49, pages: 1 },
  ]);
  assert.equal(ran.filter((sql) => sql.includes('count(*) AS hosts')).length, 1);
  const again = new SqliteStore(db, { durability: 'process', hostDelayMs: 1 });
  assert.deepEqual(again.owned(), sums.at(-1));
});

const uses: [string, string, RegExp, (store: SqliteStore, number: number) => void][] = [
  [
    'the next URL, skipping those that wait',
    'ORDER BY depth, found',
    /INDEX queue \(<expr>=\? AND not_before=\?\)/,
    next,
  ],
  [
    'waits that are over',
    'SET not_before = 0 WHERE id IN',
    /INDEX queue \(<expr>=\? AND not_before>\?/,
    next,
  ],
  ['the earliest wait', 'min(not_before)', /INDEX queue \(<expr>=\?\)/, (s, n) => s.nextUrlAt(n)],
  ['pages to settle', 'INDEXED BY', /INDEX unsettled/, (s) => s.unsettled(9)],
  ['the outbox of a peer', 'WHERE owner', /INDEX outbox_by_owner/, (s) => s.outboxOf('x', 9)],
  ['some hosts with a queue', 'number >= ', /INDEX hosts_with_queue/, (s) => s.queuedFrom(1, 9)],
  [
    'marks above a number',
    'DELETE FROM marks WHERE sender',
    /INDEX marks_by_sender \(sender=\? AND mark>\?\)/,
    (s) => s.forgetMarksAbove('x', 5),
  ],
];

function next(store: SqliteStore, number: number): void {
  store.nextUrl(number, 5);
}

for (const [what, part, index, act] of uses) {
  test(`plans: uses its index for ${what}`, () => {
    const { db, ran } = statementsOf((store) => act(store, store.host(HOST).number));
    const sql = ran.find((text) => text.includes(part));
    assert.ok(sql, ran.join('\n'));
    assert.match(planOf(db, sql), index);
  });
}

test('plans: the views find page records and queued URLs by an index', () => {
  const { db } = statementsOf(() => {});
  for (const view of ['pages', 'frontier', 'skipped']) {
    const plan = planOf(db, `SELECT * FROM ${view} WHERE host = 'a.test'`);
    assert.doesNotMatch(plan, /SCAN/, `${view}: ${plan}`);
  }
});

test('plans: pages of one host are read by their ids, including requeued ones', () => {
  const { db } = statementsOf(() => {});
  const plan = planOf(db, "SELECT * FROM pages WHERE host = 'a.test'");
  assert.match(plan, /SEARCH p USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\)/);
  assert.match(plan, /SEARCH h USING INDEX \S+ \(host=\?\)/);
  assert.doesNotMatch(plan, /SCAN (?!CONSTANT)|MATERIALIZE|TEMP B-TREE/, plan);
});
