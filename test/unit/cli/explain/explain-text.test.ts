import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainText, type UrlReport } from '../../../../agent/cli/explain/explain-text.ts';
import {
  type Explanation,
  explanationOf,
  readRowOf,
} from '../../../../agent/control/explanation.ts';
import type { NetworkWait } from '../../../../agent/core/crawl/networks-port.ts';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';
import { asForm } from '../../../../agent/url/crawl-url.ts';

function reportOf(url: string, stored: UrlReport['stored']): UrlReport {
  return {
    ...{ url, identity: url, fetchUrl: url, host: 'h.test', owner: 'a1', order: ['a1'] },
    ...{ source: 'files', networks: null, filters: [], state: 'queued' },
    ...{ foundAt: null, chain: [], silentOwner: null, stored },
  };
}

test('explain: shows a requeued page as such, with its previous outcome', () => {
  const db = openInMemory();
  const store = new SqliteStore(db, { durability: 'process', hostDelayMs: 100 });
  const url = 'https://h.test/';
  store.begin();
  store.enqueue('h.test', { url, depth: 0 }, null);
  store.recordPage(store.host('h.test').number, {
    ...{ url, status: 200, error: null, contentType: 'text/html', bytes: 9, digest: null },
    ...{ fetchedAt: 77_000, durationMs: 3, redirectTo: null, attempts: 1 },
  });
  store.beginRound(5);
  store.requeueKnown('h.test', 10);
  store.commit(false);
  const read = (sql: string, ...values: unknown[]) =>
    db.prepare<unknown[], Record<string, unknown>>(sql).get(...values);
  const form = asForm(url);
  const stored = explanationOf({ agent: 'a1', userAgent: 't/1', read, identity: url, form });
  const report = reportOf(url, stored);
  assert.match(explainText(report), /^state +requeued$/m);
  assert.doesNotMatch(explainText(report), /waits/);
  assert.match(explainText(report), /^previous +1970-01-01T00:01:17.000Z, status 200$/m);
});

test('explain: names the owner that does not answer although other agents do', () => {
  const db = openInMemory();
  const read = readRowOf(db);
  const url = 'https://h.test/';
  const form = asForm(url);
  const stored = explanationOf({ agent: 'a2', userAgent: 't/1', read, identity: url, form });
  const line = (silentOwner: string | null, found: typeof stored | null = stored) =>
    /^source +(.*)$/m.exec(explainText({ ...reportOf(url, found), silentOwner }))?.[1];
  assert.equal(line('a3'), 'state file of a2; its owner a3 does not answer');
  assert.equal(line(null), 'state file of a2; no agent answers');
  assert.equal(
    line('a3', null),
    'none: its owner a3 does not answer, and there are no state files',
  );
  assert.equal(line(null, null), 'none: no agent answers, and there are no state files');
});

test('explain: shows why the host waits, or its delay or back-off if only the file is read', () => {
  const db = openInMemory();
  const store = new SqliteStore(db, { durability: 'process', hostDelayMs: 100 });
  const url = 'https://h.test/';
  store.begin();
  store.enqueue('h.test', { url, depth: 0 }, null);
  const record = store.host('h.test');
  record.notBefore = 77_000;
  store.saveHost(record, null);
  store.commit(false);
  const asked = { agent: 'a1', userAgent: 't/1', identity: url, form: asForm(url) };
  const line = (wait?: Explanation['wait'], now = 76_000) => {
    const live = () => ({ open: null, wait: wait ?? null });
    const stored = explanationOf({
      ...{ ...asked, read: readRowOf(db), now },
      ...(wait !== undefined && { live }),
    });
    const text = explainText({ ...reportOf(url, stored), source: 'agents' });
    assert.match(text, /^state +queued$/m);
    return /^host waits +(.*)$/m.exec(text)?.[1];
  };
  const until = 'until 1970-01-01T00:01:17.000Z';
  assert.equal(line(), `${until}: politeness delay or back-off`);
  assert.equal(line(undefined, 77_000), undefined, 'the wait is over');
  record.lastFetchAt = 77_000;
  record.delayMs = 500;
  store.begin();
  store.saveHost(record, null);
  store.commit(false);
  const demanded = 'until 1970-01-01T00:01:17.500Z: politeness delay or back-off';
  assert.equal(line(undefined, 77_000), demanded);
  assert.equal(line(null), undefined);
  assert.equal(line({ kind: 'event', why: 'permit' }), 'for an address permit');
  assert.equal(line({ kind: 'slow', untilMs: 1 }), 'for a visit, as a slow host');
  assert.equal(
    line({ kind: 'time', untilMs: 77_000, why: 'retries' }),
    `${until}: all its queued URLs are retries`,
  );
});

test('explain: names the networks that a URL or its host waits for, or that have the URL', () => {
  const db = openInMemory();
  const options = { durability: 'process', hostDelayMs: 100, isShared: true } as const;
  const store = new SqliteStore(db, options);
  const url = 'https://h.test/';
  store.begin();
  store.enqueue('h.test', { url, depth: 0 }, null);
  store.commit(false);
  let networks: NetworkWait = { kind: 'verdicts', sinceMs: 77_000, failures: [] };
  const lines = (foundAt: number | null) => {
    const live = () => ({ open: null, wait: { kind: 'event', why: 'network' } as const, networks });
    const asked = { agent: 'a1', userAgent: 't/1', identity: url, form: asForm(url), live };
    const stored = explanationOf({ ...asked, read: readRowOf(db) });
    const report = { ...reportOf(url, stored), state: stored.url!.state, foundAt };
    const named = { others: ['paris', 'rome'], home: 'rome' };
    const text = explainText({ ...report, networks: named });
    return ['state', 'host waits'].map(
      (name) => new RegExp(`^${name} +(.*)$`, 'm').exec(text)?.[1],
    );
  };
  const decide = (isFinal: boolean) => {
    store.begin();
    assert.ok(store.decide(url, { kind: 'elsewhere', network: 'paris', isFinal }));
    store.commit(false);
  };
  const at = '1970-01-01T00:01:17.000Z';
  assert.deepEqual(lines(null), [
    'queued, waits for the verdict of paris, rome',
    `for the verdict of paris, rome since ${at}`,
  ]);
  const away = 'network rome: Redis at 127.0.0.1:1: ECONNREFUSED';
  const waits = (wait: NetworkWait) => {
    networks = wait;
    return lines(null)[1];
  };
  const lease = { kind: 'lease', sinceMs: 77_000, holder: 'paris', home: 'rome' } as const;
  const asked = `for its lease since ${at}: network`;
  assert.equal(
    waits({ ...lease, failures: [] }),
    `${asked} paris has it; the Redis of rome grants it`,
  );
  assert.equal(
    waits({ ...lease, holder: null, failures: [away] }),
    `for its lease since ${at}: who has it is not known; the Redis of rome grants it; ${away}`,
  );
  assert.equal(
    waits({ kind: 'delay', untilMs: 77_000, failures: [] }),
    `until ${at}: politeness delay after the last visit of a network`,
  );
  assert.equal(
    waits({ kind: 'claims', failures: [] }),
    'for paris, rome: its URLs are left to them, and not finished there',
  );
  assert.equal(waits({ kind: 'of a later version', failures: [] } as never), 'for paris, rome');
  assert.equal(
    lines(77_000)[0],
    `queued, waits since 1970-01-01T00:01:17.000Z for the verdict of paris, rome`,
  );
  decide(false);
  assert.equal(lines(null)[0], 'queued, left to network paris, which has not finished it');
  decide(true);
  assert.equal(lines(null)[0], 'skipped: network paris has finished it');
});
