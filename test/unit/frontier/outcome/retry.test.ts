import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FailureOutcome, ResponseOutcome } from '../../../../agent/core/protocol/outcome.ts';
import { type Trouble, type Verdict, verdictOn } from '../../../../agent/frontier/outcome/retry.ts';

const CALM: Trouble = {
  ...{ busy: 0, busyUntil: 0, busySince: null, blocks: 0 },
  ...{ unconnected: 0, unanswered: 0 },
};
const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3600_000;
const ended = {
  request: {
    id: 1,
    kind: 'page' as const,
    host: 'a.test',
    url: 'http://a.test/',
    fetchUrl: 'http://a.test/',
    depth: 0,
    attempts: 0,
  },
  endedAt: 100 * HOUR_MS,
  durationMs: 10,
  ip: null,
};

function status(code: number, retryAfterMs: number | null = null): ResponseOutcome {
  const none = { contentType: null, digest: null, simhash: null, redirectTo: null, note: null };
  const empty = { bytes: 0, truncated: false, links: [], outOfScope: 0 };
  return { ...ended, ...none, ...empty, kind: 'response', status: code, retryAfterMs };
}

function failure(cause: FailureOutcome['cause']): FailureOutcome {
  return { ...ended, kind: 'failure', code: 'x', message: 'x', cause };
}

const final = (hostWaitMs = 0, givesUp = false): Verdict => ({
  kind: 'final',
  hostWaitMs,
  givesUp,
});
const again = (waitMs: number, hostWaitMs = waitMs): Verdict => ({
  kind: 'again',
  waitMs,
  hostWaitMs,
});
/** The page is requeued behind the other pages of the host. */
const later = (hostWaitMs: number): Verdict => again(hostWaitMs + 1000, hostWaitMs);
const busyFor = (busy: number, hours: number): Trouble => {
  return {
    ...CALM,
    busy,
    blocks: busy,
    busyUntil: ended.endedAt - 1,
    busySince: ended.endedAt - hours * HOUR_MS,
  };
};
const quietFor = (minutes: number): Trouble => {
  return { ...CALM, busy: 3, busyUntil: ended.endedAt - minutes * 60_000 };
};
/** The host has answered only 429 and 503 for this time, and each answer named a wait. */
const blockedFor = (ms: number, blocks = 9): Trouble => {
  return { ...CALM, blocks, busyUntil: ended.endedAt - 1, busySince: ended.endedAt - ms };
};
const unanswered = (times: number, waits = 0): Trouble => {
  return { ...CALM, unanswered: times, unconnected: waits };
};
const unconnected = (times: number): Trouble => ({ ...CALM, unconnected: times });

/** The last number: for how long the URL has failed; by default, as long as its attempts take. */
const rows: [string, ResponseOutcome | FailureOutcome, number, Trouble, Verdict, number?][] = [
  ['a successful response is final', status(200), 0, CALM, final()],
  ['a redirect is final', status(301), 0, CALM, final()],
  ['not found is final', status(404), 0, CALM, final()],
  ['410 is final', status(410), 0, CALM, final()],
  ['429 with Retry-After waits as long as it says', status(429, 7_000), 0, CALM, again(7_000)],
  [
    'a first 503 with a short Retry-After costs no more than that',
    status(503, 1000),
    0,
    CALM,
    again(1000),
  ],
  [
    'Retry-After is a minimum for a URL that has failed for longer',
    status(503, 1000),
    3,
    blockedFor(7000),
    later(7000),
    7000,
  ],
  [
    'Retry-After is a minimum for a host that has been busy for longer',
    status(503, 1000),
    0,
    blockedFor(7000),
    again(7000),
    0,
  ],
  [
    'Retry-After is a minimum for a page with many attempts',
    status(503, 1000),
    5,
    CALM,
    again(31_000, 1000),
    31_000,
  ],
  ['Retry-After of 0 counts as a second', status(503, 0), 0, CALM, again(1000)],
  [
    'a growing wait is limited to an hour',
    status(503, 1),
    0,
    blockedFor(1.9 * HOUR_MS),
    again(HOUR_MS),
  ],
  [
    'Retry-After may exceed an hour',
    status(503, 2 * HOUR_MS),
    3,
    blockedFor(9 * HOUR_MS, 3),
    later(2 * HOUR_MS),
  ],
  ['429 without Retry-After waits 60 s', status(429), 0, CALM, again(60_000)],
  [
    'the wait without Retry-After doubles at the second 429',
    status(429),
    1,
    busyFor(1, 1),
    later(120_000),
  ],
  [
    'the wait without Retry-After doubles again at the third',
    status(503),
    2,
    busyFor(2, 1),
    later(240_000),
  ],
  ['30 quiet minutes reset the steps', status(503), 0, quietFor(30), again(60_000)],
  ['29 quiet minutes do not reset the steps', status(503), 0, quietFor(29), again(480_000)],
  [
    'the steps count for the host, whichever URL was busy',
    status(503),
    0,
    busyFor(5, 1),
    again(1_920_000),
  ],
  ['doubling is limited to a day', status(503), 0, busyFor(30, 1), again(24 * HOUR_MS)],
  ['Retry-After is limited to a day', status(503, 1e12), 0, CALM, again(24 * HOUR_MS)],
  ['the seventh busy answer is not the last', status(503), 6, CALM, later(60_000)],
  ['the eighth busy answer is final', status(503), 7, busyFor(7, 1), final(128 * 60_000)],
  [
    'the eighth busy answer within seconds is not final',
    status(503, 0),
    7,
    CALM,
    again(8000, 1000),
    8000,
  ],
  [
    'the hundredth busy answer within seconds is not final',
    status(503, 0),
    99,
    CALM,
    again(8000, 1000),
    8000,
  ],
  [
    'the eighth busy answer after eight minutes is final',
    status(503, 0),
    7,
    CALM,
    final(1000),
    8 * MINUTE_MS,
  ],
  [
    'two busy answers within eight minutes are not final',
    status(503, 9),
    1,
    CALM,
    again(8 * MINUTE_MS, 1000),
    8 * MINUTE_MS,
  ],
  [
    'two hours and eight busy answers abandon the host, whichever URL was last',
    ...([status(429, 5), 0, blockedFor(2 * HOUR_MS, 7), final(HOUR_MS, true)] as const),
  ],
  [
    'two hours and seven busy answers do not abandon the host',
    ...([status(429, 5), 0, blockedFor(2 * HOUR_MS, 6), again(HOUR_MS)] as const),
  ],
  ['301 with Retry-After holds the host', status(301, 20_000), 0, CALM, final(20_000)],
  ['404 with Retry-After holds the host', status(404, 20_000), 0, CALM, final(20_000)],
  ['413 with Retry-After holds the host', status(413, 20_000), 0, CALM, final(20_000)],
  [
    'Retry-After of a 404 holds the host for a day at most',
    status(404, 1e12),
    0,
    CALM,
    final(24 * HOUR_MS),
  ],
  ['500 with Retry-After holds the host and its page', status(500, 20_000), 0, CALM, again(20_000)],
  [
    '502 with Retry-After holds its page for longer at the second attempt',
    status(502, 20_000),
    1,
    CALM,
    again(60_000, 20_000),
  ],
  [
    '504 with Retry-After holds the host when it is final',
    status(504, 20_000),
    3,
    CALM,
    final(20_000),
  ],
  ['408 is retried after 1 s', status(408), 0, CALM, again(1000, 0)],
  ['421 is retried after 10 s', status(421), 1, CALM, again(10_000, 0)],
  ['425 is retried after 60 s', status(425), 2, CALM, again(60_000, 0)],
  ['the fourth 408 is final', status(408), 3, CALM, final()],
  ['408 with Retry-After holds the host', status(408, 5000), 0, CALM, again(5000)],
  ['attempts within seconds are not the last', status(500), 5, CALM, again(10_000, 0), 9000],
  ['500 is retried after 10 s, without holding the host', status(500), 0, CALM, again(10_000, 0)],
  ['a second server error waits 60 s', status(502), 1, CALM, again(60_000, 0)],
  ['a third server error waits 300 s', status(504), 2, CALM, again(300_000, 0)],
  ['a fourth server error is final', status(599), 3, CALM, final()],
  [
    'a broken exchange is retried after 10 s, without holding the host',
    failure('exchange'),
    0,
    CALM,
    again(10_000, 0),
  ],
  ['a second broken exchange waits 60 s', failure('exchange'), 1, CALM, again(60_000, 0)],
  ['a third broken exchange waits 300 s', failure('exchange'), 2, CALM, again(300_000, 0)],
  ['a fourth broken exchange is final', failure('exchange'), 3, CALM, final()],
  ['without a connection the whole host waits 10 s', failure('connection'), 0, CALM, again(10_000)],
  [
    'a second failed connection waits 60 s',
    failure('connection'),
    1,
    unconnected(1),
    again(60_000),
  ],
  [
    'a third failed connection waits 300 s',
    failure('connection'),
    2,
    unconnected(2),
    again(300_000),
  ],
  [
    'the fourth failed connection is final and abandons the origin',
    failure('connection'),
    3,
    unconnected(3),
    final(0, true),
  ],
  [
    'failed connections of several URLs abandon the origin',
    failure('connection'),
    0,
    unconnected(3),
    final(0, true),
  ],
  [
    'the last attempt of one URL does not abandon the host',
    failure('connection'),
    3,
    CALM,
    final(10_000),
  ],
  [
    'the URL and the host count their own failures',
    failure('connection'),
    2,
    CALM,
    again(300_000, 10_000),
  ],
  ['URLs that fail quickly are not final', failure('connection'), 6, CALM, again(10_000), 9000],
  [
    'a request without an answer is retried after 10 s, without holding the host',
    failure('no-answer'),
    0,
    CALM,
    again(10_000, 0),
  ],
  [
    'the ninth request in a row without an answer holds the host',
    failure('no-answer'),
    0,
    unanswered(8),
    again(10_000),
  ],
  [
    'a host without answers waits 60 s at the second step',
    failure('no-answer'),
    0,
    unanswered(9, 1),
    again(60_000),
  ],
  [
    'a host without answers waits 300 s at the third step',
    failure('no-answer'),
    0,
    unanswered(10, 2),
    again(300_000),
  ],
  [
    'a host without answers is abandoned after the third step',
    failure('no-answer'),
    0,
    unanswered(11, 3),
    final(0, true),
  ],
  [
    'refused connections and missing answers count together',
    failure('connection'),
    0,
    unanswered(9, 3),
    final(0, true),
  ],
  ['a forbidden address is blocked', failure('forbidden-address'), 0, CALM, { kind: 'blocked' }],
  [
    'a withdrawn request counts as no attempt',
    failure('withdrawn'),
    9,
    unconnected(9),
    { kind: 'withdrawn' },
  ],
];

/** The sum of the waits before so many attempts. */
const TAKEN_MS = [0, 10, 70, 370, 1000, 2000, 4000, 8000].map((seconds) => seconds * SECOND_MS);

for (const [name, outcome, attempts, trouble, verdict, failingMs] of rows) {
  test(`retry: ${name}`, () => {
    const takenMs = failingMs ?? TAKEN_MS[Math.min(attempts, 7)]!;
    const failedSince = attempts === 0 ? {} : { failedSince: ended.endedAt - takenMs };
    const request = { ...outcome.request, ...failedSince };
    const given = verdictOn({ ...outcome, request }, attempts, trouble, () => 0);
    assert.deepEqual(given, verdict);
  });
}

test('retry: a random factor extends a back-off up to twice, but not Retry-After', () => {
  const waitWith = (chance: number, retryAfterMs: number | null) => {
    const verdict = verdictOn(status(503, retryAfterMs), 0, busyFor(1, 1), () => chance);
    return verdict.kind === 'again' ? verdict.waitMs : null;
  };
  assert.deepEqual(
    [0, 0.5, 0.999].map((chance) => waitWith(chance, null)),
    [120_000, 180_000, 239_880],
  );
  assert.equal(waitWith(0.999, 2 * HOUR_MS), 2 * HOUR_MS);
});
