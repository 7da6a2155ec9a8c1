import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainText, type UrlReport } from '../../../../agent/cli/explain/explain-text.ts';
import { explanationOf } from '../../../../agent/control/explanation.ts';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';
import { asForm } from '../../../../agent/url/crawl-url.ts';

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
  const report: UrlReport = {
    ...{ url, identity: url, fetchUrl: url, host: 'h.test', owner: 'a1', order: ['a1'] },
    ...{ source: 'files', filters: [], state: 'queued', foundAt: null, chain: [], stored },
  };
  assert.match(explainText(report), /^state +requeued$/m);
  assert.match(explainText(report), /^previous +1970-01-01T00:01:17.000Z, status 200$/m);
});
