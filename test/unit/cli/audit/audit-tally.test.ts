import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditTally, type Findings } from '../../../../agent/cli/audit/audit-tally.ts';
import type { FileHost, StoredRow, WalkedUrl } from '../../../../agent/cli/audit/audit-walk.ts';

/** a1 owns every host, a2 has the copies, a3 is another member, and a9 was removed. */
function tallyOf(complete: boolean, urls: readonly WalkedUrl[], owned = ['a1']): AuditTally {
  const tally = new AuditTally({
    ...{ view: ['a1', 'a2', 'a3'], complete },
    owner: () => 'a1',
    holders: () => ['a1', 'a2'],
  });
  const agents = new Set(urls.flatMap(({ rows }) => rows.map(({ agent }) => agent)));
  const files = [...agents].map((agent): FileHost => {
    const own = urls.flatMap(({ rows }) => rows.filter((row) => row.agent === agent));
    return {
      ...{ agent, owned: owned.includes(agent) },
      queued: own.filter(({ state }) => state === 0).length,
      pages: own.filter(({ state }) => state === 1 || state === 2).length,
    };
  });
  tally.add({ host: 'h.test', files, urls });
  return tally;
}

function row(agent: string, state: number, more: Partial<StoredRow> = {}): StoredRow {
  const fetched = state === 1 || state === 2;
  const record = fetched ? { status: state === 1 ? 200 : null, error: null, fetchedAt: 5 } : null;
  const settled = state > 0;
  return {
    agent,
    state,
    round: 0,
    settled,
    reason: state === 3 ? 'robots' : null,
    record,
    ...more,
  };
}

function url(key: string, ...rows: StoredRow[]): WalkedUrl {
  return { key, rows, onTheWayFrom: [] };
}

const kinds = (tally: AuditTally) => tally.problems.list.map(({ kind }) => kind);
const whole = [
  url('h/a', row('a1', 1), row('a2', 1)),
  url('h/b', row('a1', 2), row('a2', 2)),
  url('h/c', row('a1', 3), row('a2', 3)),
];

test('audit: counts each URL in one class, even if several files have it', () => {
  const tally = tallyOf(true, whole);
  assert.deepEqual([tally.known, tally.done, tally.failed, tally.queued], [3, 1, 1, 0]);
  assert.deepEqual([...tally.skipped], [['robots', 1]]);
  assert.deepEqual([tally.addsUp, tally.hosts, tally.hostsWithFewCopies], [true, 1, 0]);
});

test('audit: counts a row that contradicts its state in no class', () => {
  const bad: [StoredRow, RegExp][] = [
    [row('a1', 1, { record: null }), /without a page record/],
    [
      row('a1', 0, { record: { status: 200, error: null, fetchedAt: 1 } }),
      /though its page is recorded/,
    ],
    [
      row('a1', 2, { record: { status: 200, error: null, fetchedAt: 1 } }),
      /state 2 with the status 200/,
    ],
    [row('a1', 3, { reason: null }), /without a reason/],
    [row('a1', 7), /no known state/],
  ];
  for (const [wrong, says] of bad) {
    const tally = tallyOf(false, [url('h/x', wrong)]);
    assert.deepEqual([tally.known, tally.sum, tally.addsUp], [1, 0, false]);
    assert.match(tally.problems.list[0]!.says, says);
    assert.deepEqual(
      [tally.problems.list[0]!.of, tally.problems.list[0]!.agent],
      [...['http://h.test/x', 'a1']],
    );
  }
});

test('audit: after completion, a URL that only a copy has is lost state and in no class', () => {
  const urls = [...whole, url('h/lost', row('a2', 1))];
  const done = tallyOf(true, urls);
  assert.deepEqual([done.known - done.sum, kinds(done)], [1, ['no-class', 'ahead']]);
  const running = tallyOf(false, urls);
  assert.deepEqual([running.done, running.ahead, running.addsUp], [2, 1, true]);
});

test('audit: after completion, reports a copy that lacks a URL or is behind', () => {
  const urls = [...whole, url('h/x', row('a1', 1)), url('h/y', row('a1', 1), row('a2', 0))];
  const tally = tallyOf(true, urls);
  assert.deepEqual([kinds(tally), tally.addsUp], [['behind', 'behind'], false]);
  assert.equal(tally.known, tally.sum);
  assert.deepEqual(
    tally.warnings.list.map(({ says }) => says),
    ['complete at a1, not at a2'],
  );
  assert.equal(tallyOf(false, urls).addsUp, true);
});

test('audit: after completion, reports URLs that are queued, unsettled or in an outbox', () => {
  const left = [
    url('h/q', row('a1', 0), row('a2', 0)),
    url('h/u', row('a1', 1, { settled: false }), row('a2', 1)),
    { key: 'h/o', rows: [], onTheWayFrom: ['a3'] },
  ];
  assert.deepEqual(kinds(tallyOf(true, left)), ['left-over', 'left-over', 'left-over']);
  const running = tallyOf(false, left);
  assert.deepEqual([running.queued, running.onTheWay, running.unsettled], [2, 1, 1]);
  assert.equal(running.addsUp, true);
});

test('audit: merges the rows of a removed agent, but ignores them where the owner has rows', () => {
  const stale = [
    url('h/a', row('a1', 1), row('a2', 1), row('a9', 0)),
    url('h/b', row('a1', 2), row('a2', 2), row('a9', 1, { settled: false })),
    url('h/c', row('a9', 0)),
    { key: 'h/d', rows: [], onTheWayFrom: ['a9'] },
  ];
  const tally = tallyOf(true, stale, ['a1', 'a9']);
  assert.deepEqual([tally.known, tally.done, tally.failed, tally.queued], [4, 2, 0, 2]);
  const said = ({ list }: Findings) => list.map(({ kind, of }) => [kind, of]);
  const queued = [
    ['only-gone', 'http://h.test/c'],
    ['only-gone', 'http://h.test/d'],
  ];
  assert.deepEqual([said(tally.problems), said(tally.warnings)], [queued, []]);
  const running = tallyOf(false, stale, ['a1', 'a9']);
  assert.deepEqual([said(running.problems), said(running.warnings)], [[], queued]);
});

test('audit: a page that only a removed agent fetched is a warning, not a problem', () => {
  const tally = tallyOf(true, [url('h/c', row('a9', 1))], ['a1', 'a9']);
  assert.deepEqual([kinds(tally), tally.warnings.count], [[], 1]);
});

test('audit: reports counters that differ from their rows', () => {
  const tally = tallyOf(false, []);
  const files = [{ agent: 'a1', owned: true, queued: 2, pages: 0 }];
  tally.add({ host: 'h.test', files, urls: [url('h/q', row('a1', 0))] });
  tally.close('a1', 1);
  assert.deepEqual(kinds(tally), ['counter', 'bad-row']);
  assert.match(tally.problems.list[0]!.says, /counts 2 queued .* its rows are 1 queued/);
});

test('audit: counts unreachable hosts, and pages that ended with 429 or 5xx', () => {
  const record = (status: number | null, error: string | null = null) => {
    return { record: { status, error, fetchedAt: 5 } };
  };
  const of = (...rows: [state: 1 | 2, status: number | null, error?: string][]) =>
    tallyOf(
      true,
      rows.map(([state, status, error], n) => {
        const both = ['a1', 'a2'].map((agent) => row(agent, state, record(status, error)));
        return { key: `h/${n}`, rows: both, onTheWayFrom: [] };
      }),
    );
  const counts = ({ hostsUnreachable, serverErrors }: AuditTally) => {
    return [hostsUnreachable, serverErrors];
  };
  assert.deepEqual(counts(of([1, 200], [1, 404])), [0, 0]);
  assert.deepEqual(counts(of([1, 200], [1, 429], [1, 503], [1, 500])), [0, 3]);
  assert.deepEqual(counts(of([1, 200], [2, null, 'reset'])), [0, 0], 'another page answered');
  assert.deepEqual(counts(of([2, null, 'reset'])), [1, 0], 'no page answered');
  assert.deepEqual(counts(of([1, 200], [2, null, 'host_silent'])), [1, 0], 'unreachable later');
  assert.deepEqual(counts(of([2, null, 'robots_unreachable'])), [1, 0]);
});
