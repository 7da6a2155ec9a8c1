// Exports of state files: each line is whole, and each URL occurs once even if several files have
// it. The graph uses stored links, or else referrers. Memory does not grow with the number of rows.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { openStateFiles } from '../../../../agent/cli/common/query-files.ts';
import { linesOf } from '../../../../agent/cli/query/export-command.ts';
import type { ExportFormat } from '../../../../agent/cli/query/export-formats.ts';
import { ClusterViews } from '../../../../agent/cli/state-files/query-views.ts';
import { openState } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';

let dataDir: string;

const ended = { contentType: 'text/html', bytes: 1, digest: null, durationMs: 1, redirectTo: null };

interface Known {
  readonly url: string;
  readonly referrer?: string;
  /** 0: not fetched. */
  readonly fetchedAt?: number;
}

function write(agent: string, known: readonly Known[], links: readonly [string, string][] = []) {
  const opened = openState({ directory: path.join(dataDir, agent), crawl: 'c', agent });
  assert.ok(opened.ok);
  const store = new SqliteStore(opened.db, { durability: 'process', hostDelayMs: 100 });
  store.begin();
  for (const { url, referrer, fetchedAt = 0 } of known) {
    const { hostname } = new URL(url);
    const item = { url, depth: 0 };
    store.enqueue(hostname, referrer === undefined ? item : { ...item, referrer }, null);
    if (fetchedAt === 0) continue;
    const { number } = store.host(hostname);
    store.recordPage(number, { url, status: 200, error: null, fetchedAt, attempts: 1, ...ended });
  }
  for (const [source, of] of Map.groupBy(links, ([source]) => source)) {
    store.saveLinks(
      source,
      of.map(([, target]) => target),
    );
  }
  store.commit(false);
  store.close();
  opened.unlock();
}

function exported(format: ExportFormat, onPartial?: (edges: number) => void): string {
  const { files } = openStateFiles(dataDir, []);
  const views = new ClusterViews(files, assert.fail, () => undefined);
  const db = views.open();
  try {
    return [...linesOf(format, db, files, onPartial)].join('');
  } finally {
    db.close();
    views.close();
  }
}

const sorted = (text: string) => text.split('\n').filter(Boolean).sort();

describe('export', () => {
  beforeEach(() => {
    dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-export-'));
  });
  afterEach(() => fs.rmSync(dataDir, { recursive: true }));

  test('export: prints a page that two files have as one line, with all columns', () => {
    const url = 'http://one.test/a';
    write('a1', [{ url, fetchedAt: 7 }, { url: 'http://one.test/queued' }]);
    write('a2', [{ url, fetchedAt: 5 }]);
    const [line, ...more] = sorted(exported('jsonl'));
    assert.deepEqual(more, []);
    const page = JSON.parse(line!);
    assert.deepEqual([page.agent, page.url, page.fetched_at, page.status], ['a2', url, 5, 200]);
    assert.equal(Object.keys(page).length, 24);
    assert.deepEqual(sorted(exported('urls')), [url]);
  });

  test('export: without stored links, the graph has the referrer of every known URL', () => {
    const [root, child, leaf] = ['http://one.test/', 'http://one.test/x', 'http://two.test/'];
    write('a1', [
      { url: root!, fetchedAt: 1 },
      { url: child!, referrer: root!, fetchedAt: 2 },
    ]);
    write('a2', [{ url: leaf!, referrer: child! }]);
    assert.deepEqual(sorted(exported('graph')), [`${root}\t${child}`, `${child}\t${leaf}`]);
  });

  test('export: a page that is requeued, or then skipped, stays in the graph and the URLs', () => {
    const [root, child] = ['http://one.test/', 'http://one.test/x'];
    const known = [
      { url: root!, fetchedAt: 1 },
      { url: child!, referrer: root!, fetchedAt: 2 },
    ];
    write('a1', known);
    const { db, unlock } = openState({
      ...{ directory: path.join(dataDir, 'a1'), crawl: 'c', agent: 'a1' },
    }) as Extract<ReturnType<typeof openState>, { ok: true }>;
    const store = new SqliteStore(db, { durability: 'process', hostDelayMs: 100 });
    store.begin();
    store.beginRound(7);
    store.requeueKnown('one.test', 10);
    store.commit(false);
    const told = () => [sorted(exported('graph')), sorted(exported('urls'))];
    assert.deepEqual(told(), [[`${root}\t${child}`], [root, child]]);
    store.begin();
    store.skip(store.host('one.test').number, child!, 'scope');
    store.commit(false);
    assert.deepEqual(told(), [[`${root}\t${child}`], [root, child]]);
    store.close();
    unlock();
  });

  test('export: with stored links, the graph has all of them', () => {
    const url = 'http://one.test/';
    write(
      'a1',
      [{ url, fetchedAt: 1 }],
      [
        [url, 'http://one.test/x'],
        [url, 'http://far.test/'],
      ],
    );
    const graph = [`${url}\thttp://far.test/`, `${url}\thttp://one.test/x`];
    assert.deepEqual(sorted(exported('graph')), graph);
  });

  test('export: the graph has first referrers only of pages without stored links', () => {
    const [root, old, fresh, bare] = ['', 'old', 'fresh', 'bare'].map(
      (at) => `http://one.test/${at}`,
    );
    const known = [
      { url: root!, fetchedAt: 1 },
      { url: old!, referrer: root!, fetchedAt: 2 },
      { url: fresh!, referrer: old!, fetchedAt: 3 },
      { url: 'http://one.test/sitemap.xml', referrer: 'http://one.test/robots.txt' },
      { url: 'http://one.test/queued', referrer: fresh! },
    ];
    write('a1', known, [[fresh!, root!]]);
    write('a2', [{ url: 'http://two.test/', referrer: bare! }], [[bare!, 'http://two.test/']]);
    const partial: number[] = [];
    const graph = () => sorted(exported('graph', (edges) => partial.push(edges)));
    const robots = 'http://one.test/robots.txt\thttp://one.test/sitemap.xml';
    const stored = [`${fresh}\t${root}`, `${bare}\thttp://two.test/`, robots];
    assert.deepEqual(graph(), [...stored, `${root}\t${old}`, `${old}\t${fresh}`].toSorted());
    assert.deepEqual(partial, [2]);
    // Read again, both have other links.
    const opened = openState({
      ...{ directory: path.join(dataDir, 'a1'), crawl: 'c', agent: 'a1' },
    });
    assert.ok(opened.ok);
    const store = new SqliteStore(opened.db, { durability: 'process', hostDelayMs: 100 });
    store.begin();
    store.saveLinks(root!, [fresh!], true);
    store.saveLinks(old!, [], true);
    store.commit(false);
    store.close();
    opened.unlock();
    assert.deepEqual(graph(), [...stored, `${root}\t${fresh}`].toSorted());
    assert.deepEqual(partial, [2]);
  });

  test('export: yields whole lines in pieces of bounded size', () => {
    const known = Array.from({ length: 5000 }, (_, k) => ({
      url: `http://h${k % 50}.test/${k}`,
      fetchedAt: k + 1,
    }));
    write('a1', known);
    const { files } = openStateFiles(dataDir, []);
    const views = new ClusterViews(files, assert.fail, () => undefined);
    const db = views.open();
    let lines = 0;
    for (const piece of linesOf('jsonl', db, files)) {
      assert.ok(piece.length < 80_000);
      assert.ok(piece.endsWith('\n'));
      lines += piece.split('\n').length - 1;
    }
    db.close();
    views.close();
    assert.equal(lines, 5000);
  });
});
