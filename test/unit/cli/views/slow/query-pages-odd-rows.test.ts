// One row that no agent has written, in each table and column that the dashboard reads: the lists show
// or leave out that row, and have all others.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { readerOf } from '../../../../../agent/cli/common/query-files.ts';
import { eventsOf } from '../../../../../agent/cli/views/agent-events.ts';
import { circleAt, historyOf } from '../../../../../agent/cli/views/history.ts';
import type { OpenState } from '../../../../../agent/cli/views/kept-copies.ts';
import { HOST_SORTS, hostsPage, mergedHosts } from '../../../../../agent/cli/views/query-pages.ts';
import { urlsPage } from '../../../../../agent/cli/views/url-pages.ts';
import { crawlOf } from '../state-files.ts';

const ODD = {
  text: "'text'",
  bytes: "x'00ff80'",
  NUL: `'{"agent":' || char(0) || '"a1"}'`,
  'invalid JSON': `'{"agent":'`,
  'JSON of a wrong shape': `'{"agent":{"toString":1},"capacity":"many"}'`,
  'a huge text': "printf('%.*c', 300000, 'x')",
  'a huge number': '1e300',
  infinity: '9e999',
  'the largest integer': '9223372036854775807',
  'a negative number': '-9223372036854775808',
};
const COLUMNS = {
  event_rows: ['at', 'kind', 'detail'],
  sample_rows: ['at', 'pages', 'queued', 'pages_per_second', 'loop_delay_ms'],
  host_rows: ['host', 'ip', 'pages_done', 'queued', 'out_of_scope', 'not_before', 'last_fetch_at'],
  urls: ['key', 'depth', 'attempts', 'not_before', 'fetch_url', 'referrer', 'reason', 'round'],
  page_records: [
    ...['status', 'error', 'content_type', 'bytes', 'digest', 'fetched_at', 'duration_ms'],
    ...['redirect_to', 'warc_file', 'warc_offset', 'canonical', 'noindex', 'unchanged'],
  ],
} as const;

const texts = z.string().max(70_000);
/** Within the range of dates. */
const time = z.number().min(0).max(8.64e15);
const rowsSchema = z.array(z.record(z.string(), z.union([texts, z.number(), z.null()])));
const historySchema = z.object({
  span: z.object({ from: time, to: time }),
  agents: z.array(z.object({ samples: z.array(z.array(z.number())).min(2) })).length(1),
  changes: z.array(z.object({ at: time, id: z.string(), capacity: z.number().optional() })).min(2),
  problems: z.array(z.never()),
});
const eventsSchema = z.array(z.object({ at: time, kind: texts, detail: texts })).min(2);
const circleSchema = z.object({ views: z.array(z.object({ slices: z.array(z.int()) })).length(1) });

/** Rows of three hosts, and what the agent has recorded at three times. */
function fill(file: Database.Database): void {
  file.exec(`UPDATE urls SET state = CASE substr(key, -1) WHEN '1' THEN 0 WHEN '2' THEN 1 ELSE 3 END;
    INSERT INTO page_records (id, bytes, fetched_at, duration_ms) SELECT id, 1, 2, 3 FROM urls`);
  for (const at of [1000, 2000, 3000]) {
    file.exec(`INSERT INTO sample_rows SELECT NULL, ${at}, 1, 1, 1, 1, 1, 1, 1`);
  }
}

/** As the answer arrives: JSON has no NaN. */
function sent<T>(answer: T): T {
  return JSON.parse(JSON.stringify(answer));
}

function pairs<A, B>(as: readonly A[], bs: readonly B[]): [A, B][] {
  return as.flatMap((a) => bs.map((b): [A, B] => [a, b]));
}

test('a row with an odd value spoils no list', (t) => {
  const hosts = ['h1.test', 'h2.test', 'h3.test'];
  const { config, fileOf } = crawlOf(t, ['a1'], (store) => {
    for (const host of hosts) {
      for (const k of [1, 2, 3]) {
        store.enqueue(host, { url: `http://${host}/${k}`, depth: 0 }, null);
      }
    }
    for (const at of [1000, 2000, 3000]) store.event(at, 'join', { agent: `a${at}`, capacity: 1 });
  });
  const file = new Database(fileOf('a1'));
  t.after(() => file.close());
  fill(file);
  const open: OpenState = (agent, path) => {
    const reader = readerOf(agent, path, { db: file, isCopy: false });
    return { ...reader, close: reader.endRows };
  };
  const lookAt = (table: string) => {
    if (table === 'event_rows' || table === 'sample_rows') {
      historySchema.parse(sent(historyOf(config, open)));
      circleSchema.parse(circleAt(config, 1e15, open));
      return eventsSchema.parse(eventsOf(config.agent.dataDir, 'a1', 0, open)?.events);
    }
    for (const sort of HOST_SORTS) {
      const seen: unknown[] = [];
      let after: string | undefined;
      do {
        const query = { sort, limit: 1, after } as const;
        const page = sent(mergedHosts([hostsPage(config, query, [], open)], query, []));
        assert.deepEqual(page.problems, []);
        seen.push(...rowsSchema.parse(page.rows).map(({ host }) => host));
        after = page.next ?? undefined;
      } while (after !== undefined && seen.length < 9);
      assert.equal(new Set(seen).size, seen.length);
      assert.ok(seen.includes(hosts[0]) && seen.includes(hosts[2]));
    }
    for (const view of ['pages', 'frontier', 'skipped'] as const) {
      for (const host of hosts) {
        const { rows, problems } = urlsPage(config, view, { host, limit: 9 }, [], open);
        assert.deepEqual(problems, []);
        rowsSchema.parse(sent(rows));
        if (table !== 'host_rows' || host !== hosts[1]) assert.equal(rows.length, 1);
      }
    }
  };
  for (const [table, columns] of Object.entries(COLUMNS)) {
    lookAt(table);
    for (const [column, [name, value]] of pairs(columns, Object.entries(ODD))) {
      file.exec('SAVEPOINT odd');
      const second = `(SELECT rowid FROM ${table} LIMIT 1 OFFSET 1)`;
      file.exec(`UPDATE ${table} SET ${column} = ${value} WHERE rowid = ${second}`);
      try {
        lookAt(table);
      } catch (cause) {
        throw new Error(`${name} in ${table}.${column}`, { cause });
      }
      file.exec('ROLLBACK TO odd; RELEASE odd');
    }
  }
});

test('events that name all members of the largest cluster are listed', (t) => {
  const view = Array.from({ length: 1024 }, (_, k) => `${'𐐀'.repeat(60)}${1000 + k}`);
  const { config } = crawlOf(t, ['a1'], (store) => {
    store.event(1, 'join', { agent: 'a1', capacity: 1, members: view.length, view });
    store.event(2, 'complete', { tookMs: 1, backups: 1, view });
  });
  const events = eventsOf(config.agent.dataDir, 'a1', 0)?.events.map(({ kind }) => kind);
  assert.deepEqual(events, ['join', 'complete']);
  assert.equal(historyOf(config).changes.length, 1);
});

test('the dashboard shows a time that is no date', async () => {
  const path = '../../../../../agent/dashboard/format.js';
  const { time: clock, dateTime } = await import(path);
  for (const odd of ['text', 1e300, Number.NaN]) {
    assert.equal(clock(odd), '?');
    assert.equal(dateTime(odd), '?');
  }
  assert.match(dateTime(0), /1970/);
});

test('the dashboard shows no minute of 60 seconds', async () => {
  const path = '../../../../../agent/dashboard/format.js';
  const { duration } = (await import(path)) as { duration: (ms: number) => string };
  assert.deepEqual([359_700, 360_000].map(duration), ['5 min 59 s', '6 min 0 s']);
});
