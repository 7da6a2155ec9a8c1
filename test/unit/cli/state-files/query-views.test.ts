import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { openStateFiles } from '../../../../agent/cli/common/query-files.ts';
import { prepareQuery } from '../../../../agent/cli/query/query-command.ts';
import { crawlTotals } from '../../../../agent/cli/state-files/query-totals.ts';
import { ClusterViews, viewsReadBy } from '../../../../agent/cli/state-files/query-views.ts';
import { openState } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';

/** The default number of backups. Each test sets the owner of its hosts. */
const config = {
  name: 'c',
  cluster: { agents: 2, overlay: 'ring', replicas: 50, backups: 1 },
} as unknown as Parameters<typeof crawlTotals>[1];

let dataDir: string;
let closing: (() => void)[];

/** A running agent: its file stays open, and its rows stay in the write-ahead log. */
function running(agent: string, crawl = 'c') {
  const opened = openState({ directory: path.join(dataDir, agent), crawl, agent });
  assert.ok(opened.ok);
  const options = { durability: 'process', hostDelayMs: 100, isShared: true } as const;
  const store = new SqliteStore(opened.db, options);
  closing.push(() => {
    store.close();
    opened.unlock();
  });
  return {
    store,
    queue(host: string, ...paths: string[]) {
      store.begin();
      for (const [depth, at] of paths.entries()) {
        store.enqueue(host, { url: `http://${host}${at}`, depth }, null);
      }
      store.commit(false);
    },
    fetch(host: string, at: string, status: number | null, fetchedAt: number) {
      store.begin();
      const record = store.host(host);
      store.recordPage(record.number, {
        url: `http://${host}${at}`,
        status,
        error: status === null ? 'timeout' : null,
        contentType: 'text/html',
        bytes: 10,
        digest: null,
        fetchedAt,
        durationMs: 1,
        redirectTo: null,
        attempts: 1,
      });
      store.saveHost({ ...record, lastFetchAt: fetchedAt }, '10.0.0.1');
      store.commit(false);
    },
    fetchAt(host: string, at: string, fetchedAt: number) {
      this.queue(host, at);
      this.fetch(host, at, 200, fetchedAt);
    },
    skip(host: string, at: string) {
      store.begin();
      store.enqueue(host, { url: `http://${host}${at}`, depth: 1 }, 'robots');
      store.commit(false);
    },
  };
}

/** Rows of a query as arrays, and the reported problems. */
function ask(sql: string, expected: string[] = [], present?: string) {
  const { files, problems } = openStateFiles(dataDir, expected);
  const said = [...problems];
  const owner = () => present;
  const views = new ClusterViews(files, (problem) => said.push(problem), owner);
  const db = views.open();
  try {
    const statement = prepareQuery(db, sql);
    if (typeof statement === 'string') return { rows: [], said: [...said, statement] };
    return { rows: [...statement.raw().iterate()], said };
  } finally {
    db.close();
    views.close();
  }
}

describe('query over files', () => {
  beforeEach(() => {
    dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-query-'));
    closing = [];
  });
  afterEach(() => {
    for (const close of closing) close();
    fs.rmSync(dataDir, { recursive: true });
  });

  test('returns the rows of all running agents, each with its agent', () => {
    const [a1, a2] = [running('a1'), running('a2')];
    a1.queue('one.test', '/', '/x');
    a2.queue('two.test', '/');
    a1.fetch('one.test', '/', 200, 5);
    assert.deepEqual(ask('SELECT agent, url, status FROM pages').rows, [
      ['a1', 'http://one.test/', 200],
    ]);
    const queued = ask('SELECT agent, url FROM frontier ORDER BY url').rows;
    assert.deepEqual(queued, [
      ['a1', 'http://one.test/x'],
      ['a2', 'http://two.test/'],
    ]);
    assert.deepEqual(ask('SELECT agent, pages_done, pages_queued FROM hosts ORDER BY 1').rows, [
      ['a1', 1, 1],
      ['a2', 0, 1],
    ]);
  });

  test('merges a host that two files claim by URL, and counts the merged URLs', () => {
    const [dead, successor] = [running('a1'), running('a2')];
    dead.queue('h.test', '/', '/both', '/late', '/open', '/no');
    dead.fetch('h.test', '/', 200, 5);
    dead.fetch('h.test', '/both', null, 6);
    successor.queue('h.test', '/', '/both', '/late');
    successor.fetch('h.test', '/', 404, 4);
    successor.fetch('h.test', '/both', 200, 9);
    successor.fetch('h.test', '/late', 200, 10);
    successor.skip('h.test', '/no');
    successor.queue('own.test', '/');
    const pages = ask('SELECT agent, url, status, depth FROM pages ORDER BY url').rows;
    assert.deepEqual(pages, [
      ['a2', 'http://h.test/', 404, 0],
      ['a2', 'http://h.test/both', 200, 1],
      ['a2', 'http://h.test/late', 200, 2],
    ]);
    assert.deepEqual(ask('SELECT agent, url FROM frontier ORDER BY url').rows, [
      ['a1', 'http://h.test/open'],
      ['a2', 'http://own.test/'],
    ]);
    assert.deepEqual(ask('SELECT agent, url, reason FROM skipped').rows, [
      ['a2', 'http://h.test/no', 'robots'],
    ]);
    assert.deepEqual(
      ask('SELECT agent, host, pages_done, pages_queued FROM hosts ORDER BY host').rows,
      [
        ['a2', 'h.test', 3, 1],
        ['a2', 'own.test', 0, 1],
      ],
    );
    assert.deepEqual(crawlTotals(dataDir, config).agents, [
      {
        agent: 'a1',
        pages: 0,
        failed: 0,
        serverErrors: 0,
        blocked: 0,
        blockedHost: null,
        hostsUnreachable: 0,
        bytes: 0,
        hosts: 0,
        end: null,
      },
      {
        agent: 'a2',
        pages: 3,
        failed: 0,
        serverErrors: 0,
        blocked: 0,
        blockedHost: null,
        hostsUnreachable: 0,
        bytes: 30,
        hosts: 2,
        end: null,
      },
    ]);
  });

  test('shows a requeued page once, with the last response of all files', () => {
    const [dead, successor] = [running('a1'), running('a2')];
    for (const agent of [dead, successor]) agent.queue('h.test', '/', '/x', '/y');
    dead.fetch('h.test', '/', 200, 5);
    dead.fetch('h.test', '/x', 200, 6);
    successor.fetch('h.test', '/', 404, 9);
    successor.store.begin();
    successor.store.beginRound(7);
    successor.store.requeueKnown('h.test', 10);
    successor.store.commit(false);
    const pages = 'SELECT agent, url, status, round, queued_again FROM pages ORDER BY url';
    assert.deepEqual(ask(pages, [], 'a2').rows, [
      ['a2', 'http://h.test/', 404, 0, 1],
      ['a1', 'http://h.test/x', 200, 0, 1],
    ]);
    assert.equal(ask('SELECT url FROM frontier').rows.length, 3);
    assert.deepEqual(ask('SELECT pages_done, pages_queued FROM hosts').rows, [[0, 3]]);
    successor.fetch('h.test', '/', 200, 12);
    assert.deepEqual(ask(pages, [], 'a2').rows, [
      ['a2', 'http://h.test/', 200, 7, 0],
      ['a1', 'http://h.test/x', 200, 0, 1],
    ]);
    // The summary of a launch counts what `audit` and `pages_done` count.
    const { agents: totals, queuedAgain } = crawlTotals(dataDir, config);
    assert.deepEqual(
      totals.map(({ pages, bytes }) => [pages, bytes]),
      [
        [0, 0],
        [1, 10],
      ],
    );
    assert.equal(queuedAgain, 1);
  });

  test('shows a requeued and skipped page once, with the last response of all files', () => {
    const [dead, successor] = [running('a1'), running('a2')];
    for (const agent of [dead, successor]) agent.queue('h.test', '/', '/x', '/y');
    dead.fetch('h.test', '/', 200, 5);
    dead.fetch('h.test', '/x', 200, 6);
    successor.fetch('h.test', '/', 404, 9);
    successor.store.begin();
    successor.store.beginRound(7);
    successor.store.requeueKnown('h.test', 10);
    successor.store.commit(false);
    successor.store.begin();
    const { number } = successor.store.host('h.test');
    for (const path of ['/', '/x', '/y'])
      successor.store.skip(number, `http://h.test${path}`, 'robots');
    successor.store.commit(false);
    const pages = 'SELECT agent, url, status, round, queued_again, skipped FROM pages ORDER BY url';
    assert.deepEqual(ask(pages, [], 'a2').rows, [
      ['a2', 'http://h.test/', 404, 0, 0, 'robots'],
      ['a1', 'http://h.test/x', 200, 0, 0, 'robots'],
    ]);
    assert.deepEqual(ask('SELECT agent, url FROM skipped ORDER BY url').rows, [
      ['a2', 'http://h.test/'],
      ['a2', 'http://h.test/x'],
      ['a2', 'http://h.test/y'],
    ]);
    assert.deepEqual(ask('SELECT pages_done, pages_queued FROM hosts').rows, [[0, 0]]);
    const { agents: totals, queuedAgain } = crawlTotals(dataDir, config);
    assert.deepEqual([...totals.map(({ pages }) => pages), queuedAgain], [0, 0, 0]);
  });

  test('a previous member has not completed what the members completed later', () => {
    const [former, left, member] = [running('a1'), running('a2'), running('a3')];
    type Kind = Parameters<SqliteStore['event']>[1];
    const event = (
      { store }: typeof former,
      at: number,
      kind: Kind,
      detail: Record<string, unknown>,
    ) => {
      store.begin();
      store.event(at, kind, detail);
      store.commit(false);
    };
    const all = { view: ['a1', 'a2', 'a3'] };
    event(former, 5, 'complete', all);
    event(left, 7, 'leave', { agent: 'a2' });
    event(member, 5, 'complete', all);
    const ends = () => crawlTotals(dataDir, config).agents.map(({ end }) => end);
    event(member, 8, 'join', { agent: 'a3', view: ['a3'] });
    assert.deepEqual(ends(), [null, 'left', null]);
    event(member, 9, 'complete', { view: ['a3'] });
    assert.deepEqual(ends(), [null, 'left', 'complete']);
  });

  test('counts the URLs that other networks have claimed or finished', () => {
    const { store } = running('a1');
    store.begin();
    const urls = ['/a', '/b', '/c', '/d'].map((at) => `http://h.test${at}`);
    for (const url of urls) store.enqueue('h.test', { url, depth: 0 }, null);
    for (const [k, network] of ['rome', 'paris', 'paris'].entries()) {
      store.decide(urls[k]!, { kind: 'elsewhere', network, isFinal: k > 1 });
    }
    store.commit(false);
    const paris = { network: 'paris', urls: 2 };
    assert.deepEqual(crawlTotals(dataDir, config).elsewhere, [paris, { network: 'rome', urls: 1 }]);
  });

  test('omits the totals of an agent that was no member, and names a member without state', () => {
    const [member] = [running('a1'), running('a9')];
    member.store.begin();
    member.store.event(5, 'join', { agent: 'a1', view: ['a1', 'a2'] });
    member.store.commit(false);
    const { agents, missing } = crawlTotals(dataDir, config);
    assert.deepEqual([agents.map(({ agent }) => agent), missing], [['a1'], ['a2']]);
  });

  test('the totals do not count another crawl in the data directory', () => {
    running('a1').fetchAt('h.test', '/', 5);
    running('b1', 'other').fetchAt('other.test', '/', 5);
    const { agents } = crawlTotals(dataDir, config);
    assert.deepEqual(
      agents.map(({ agent, pages }) => [agent, pages]),
      [['a1', 1]],
    );
  });

  test('finds a host that is handed over while the files are opened', () => {
    const [joiner, giver] = [running('a1'), running('a2')];
    giver.fetchAt('h.test', '/', 5);
    let isGiven = false;
    const opened = openStateFiles(dataDir, [], {
      onOpened: () => {
        if (isGiven) return;
        isGiven = true;
        joiner.fetchAt('h.test', '/', 5);
        giver.store.begin();
        giver.store.deleteHost('h.test');
        giver.store.commit(false);
      },
    });
    const views = new ClusterViews(opened.files, assert.fail, () => undefined);
    const db = views.open();
    assert.deepEqual(db.prepare('SELECT agent, url FROM pages').raw().all(), [
      ['a1', 'http://h.test/'],
    ]);
    db.close();
    views.close();
  });

  test('credits equal rows of two files to the current owner', () => {
    const [dead, successor] = [running('a1'), running('a2')];
    for (const agent of [dead, successor]) agent.queue('h.test', '/', '/x');
    dead.fetch('h.test', '/', 200, 5);
    successor.fetch('h.test', '/', 200, 9);
    const by = (present: string) => [
      ...ask('SELECT agent FROM pages', [], present).rows,
      ...ask('SELECT agent FROM hosts', [], present).rows,
      ...ask('SELECT agent FROM frontier', [], present).rows,
    ];
    assert.deepEqual(by('a2'), [['a2'], ['a2'], ['a2']]);
    assert.deepEqual(by('a1'), [['a1'], ['a1'], ['a1']]);
  });

  test('ignores the copy of a backup', () => {
    const [owner, backup] = [running('a1'), running('a2')];
    owner.queue('h.test', '/');
    backup.queue('h.test', '/', '/more');
    backup.store.begin();
    backup.store.setOwned('h.test', false);
    backup.store.commit(false);
    assert.deepEqual(ask('SELECT agent, url FROM frontier').rows, [['a1', 'http://h.test/']]);
    assert.deepEqual(ask('SELECT agent FROM hosts').rows, [['a1']]);
  });

  test('returns stored and computed integers of any size exactly', () => {
    running('a1').fetchAt('h.test', '/', 1_795_313_309_017);
    const { files } = openStateFiles(dataDir, []);
    const views = new ClusterViews(files, assert.fail, () => undefined);
    const db = views.open();
    const statement = prepareQuery(
      db,
      'SELECT typeof(fetched_at), fetched_at / 1000, 9007199254740993 FROM pages',
    );
    assert.ok(typeof statement !== 'string');
    const [row] = [...statement.raw().safeIntegers().iterate()];
    assert.deepEqual(row, ['integer', 1_795_313_309n, 9007199254740993n]);
    db.close();
    views.close();
  });

  test('a query sees one snapshot of an agent, despite later writes', () => {
    const a1 = running('a1');
    a1.queue('h.test', '/');
    const { files } = openStateFiles(dataDir, []);
    const views = new ClusterViews(files, assert.fail, () => undefined);
    const db = views.open();
    a1.fetch('h.test', '/', 200, 5);
    const both = 'SELECT url FROM pages UNION ALL SELECT url FROM frontier';
    assert.equal(db.prepare(both).all().length, 1);
    assert.equal(db.prepare('SELECT url FROM frontier').all().length, 1);
    db.close();
    views.close();
  });

  test('a join does not read a view once for each row of the other', () => {
    const a1 = running('a1');
    const paths = Array.from({ length: 3000 }, (_, k) => `/${k}`);
    a1.queue('h.test', ...paths);
    const began = process.cpuUsage();
    const { rows } = ask(
      'SELECT count(*) FROM frontier a JOIN frontier b ON a.url = b.url WHERE b.depth >= 0',
    );
    const { user } = process.cpuUsage(began);
    assert.deepEqual(rows, [[3000]]);
    // Reading nine million rows would take many times as long.
    assert.ok(user < 3_000_000, `${user} µs`);
  });

  test('a query that stops early leaves nothing open', () => {
    running('a1').queue('h.test', '/', '/x', '/y');
    assert.equal(ask('SELECT url FROM frontier LIMIT 1').rows.length, 1);
  });

  test('refuses statements that write or attach, and more than one statement', () => {
    running('a1').queue('h.test', '/');
    const refused = [
      'DELETE FROM pages',
      'INSERT INTO events VALUES (1, 2, 3, 4) RETURNING *',
      'CREATE TABLE t (x)',
      `ATTACH '${dataDir}/other.db' AS other`,
      `VACUUM INTO '${dataDir}/other.db'`,
      'BEGIN',
      'SELECT 1; SELECT 2',
      '',
      'SELEC 1',
      'SELECT nope FROM pages',
    ];
    for (const sql of refused) {
      const { said } = ask(sql);
      assert.match(said[0] ?? 'answered', /^(the query is not valid|only statements)/, sql);
    }
    assert.deepEqual(fs.readdirSync(dataDir), ['a1']);
  });

  test('names a missing and a damaged file, and answers from the others', () => {
    running('a1').queue('h.test', '/');
    fs.mkdirSync(path.join(dataDir, 'a2'));
    fs.writeFileSync(path.join(dataDir, 'a2', 'state.sqlite'), 'no database at all '.repeat(200));
    const { rows, said } = ask('SELECT agent FROM frontier', ['a1', 'a2', 'a3']);
    assert.deepEqual(rows, [['a1']]);
    assert.match(said[0] ?? '', /^a2: .*state\.sqlite is damaged/);
    assert.match(said[1] ?? '', /^a3: no state in /);
    assert.equal(said.length, 2);
  });
});

test('the views that a statement reads', () => {
  for (const [sql, views] of [
    ['SELECT count(*) FROM pages', ['pages']],
    [
      'SELECT * FROM hosts h JOIN pages USING (host) WHERE h.host IN (SELECT host FROM frontier)',
      ['pages', 'frontier', 'hosts'],
    ],
    ['WITH pages AS (SELECT 1) SELECT * FROM pages', []],
    ["SELECT 'links' AS events", []],
    ['SELECT 1', []],
    ['SELECT wrong FROM pages', []],
    ['DROP TABLE pages', []],
  ] as const) {
    assert.deepEqual(viewsReadBy(sql), views, sql);
  }
});
