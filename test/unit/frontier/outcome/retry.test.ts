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
/** Behind the other pages of the host, which come first. */
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
/** Answered nothing but 429 and 503 for so long, and named the wait each time. */
const blockedFor = (ms: number, blocks = 9): Trouble => {
  return { ...CALM, blocks, busyUntil: ended.endedAt - 1, busySince: ended.endedAt - ms };
};
const unanswered = (times: number, waits = 0): Trouble => {
  return { ...CALM, unanswered: times, unconnected: waits };
};
const unconnected = (times: number): Trouble => ({ ...CALM, unconnected: times });

/** The last number: for how long its URL has failed; else for as long as its attempts take. */
const rows: [string, ResponseOutcome | FailureOutcome, number, Trouble, Verdict, number?][] = [
  ['a page that came is final', status(200), 0, CALM, final()],
  ['a redirect is final', status(301), 0, CALM, final()],
  ['not found is final', status(404), 0, CALM, final()],
  ['gone is final', status(410), 0, CALM, final()],
  ['429 with Retry-After waits it', status(429, 7_000), 0, CALM, again(7_000)],
  ['a first block with a short one costs no more', status(503, 1000), 0, CALM, again(1000)],
  ['Retry-After is a minimum', status(503, 1000), 3, blockedFor(7000), later(7000), 7000],
  ['of a host that is busy for long', status(503, 1000), 0, blockedFor(7000), again(7000), 0],
  ['or of a page', status(503, 1000), 5, CALM, again(31_000, 1000), 31_000],
  ['Retry-After of 0 counts as a second', status(503, 0), 0, CALM, again(1000)],
  [
    'no growing wait is longer than an hour',
    status(503, 1),
    0,
    blockedFor(1.9 * HOUR_MS),
    again(HOUR_MS),
  ],
  [
    'but Retry-After may be',
    status(503, 2 * HOUR_MS),
    3,
    blockedFor(9 * HOUR_MS, 3),
    later(2 * HOUR_MS),
  ],
  ['429 without one waits 60 s', status(429), 0, CALM, again(60_000)],
  ['which doubles with each in a row', status(429), 1, busyFor(1, 1), later(120_000)],
  ['and again', status(503), 2, busyFor(2, 1), later(240_000)],
  ['30 quiet minutes forgive all steps', status(503), 0, quietFor(30), again(60_000)],
  ['29 do not', status(503), 0, quietFor(29), again(480_000)],
  ['for the host, whichever URL it was', status(503), 0, busyFor(5, 1), again(1_920_000)],
  ['no wait beyond a day by doubling', status(503), 0, busyFor(30, 1), again(24 * HOUR_MS)],
  ['nor by Retry-After', status(503, 1e12), 0, CALM, again(24 * HOUR_MS)],
  ['the seventh busy answer is not the last', status(503), 6, CALM, later(60_000)],
  ['the eighth is', status(503), 7, busyFor(7, 1), final(128 * 60_000)],
  ['but not within seconds', status(503, 0), 7, CALM, again(8000, 1000), 8000],
  ['nor is any number of them', status(503, 0), 99, CALM, again(8000, 1000), 8000],
  ['after eight minutes it is', status(503, 0), 7, CALM, final(1000), 8 * MINUTE_MS],
  ['not after two of them', status(503, 9), 1, CALM, again(8 * MINUTE_MS, 1000), 8 * MINUTE_MS],
  [
    'two hours of it and eight blocks give the host up, whichever URL was the last',
    ...([status(429, 5), 0, blockedFor(2 * HOUR_MS, 7), final(HOUR_MS, true)] as const),
  ],
  [
    'seven blocks do not',
    ...([status(429, 5), 0, blockedFor(2 * HOUR_MS, 6), again(HOUR_MS)] as const),
  ],
  ['301 with Retry-After holds the host', status(301, 20_000), 0, CALM, final(20_000)],
  ['404 too', status(404, 20_000), 0, CALM, final(20_000)],
  ['403 and 413 as well', status(413, 20_000), 0, CALM, final(20_000)],
  ['for a day at most', status(404, 1e12), 0, CALM, final(24 * HOUR_MS)],
  ['500 holds its page for as long', status(500, 20_000), 0, CALM, again(20_000)],
  ['or for longer', status(502, 20_000), 1, CALM, again(60_000, 20_000)],
  ['and when it is final', status(504, 20_000), 3, CALM, final(20_000)],
  ['408 comes again after 1 s', status(408), 0, CALM, again(1000, 0)],
  ['421 after 10 s', status(421), 1, CALM, again(10_000, 0)],
  ['425 after 60 s', status(425), 2, CALM, again(60_000, 0)],
  ['and the fourth is final', status(408), 3, CALM, final()],
  ['408 with Retry-After holds the host', status(408, 5000), 0, CALM, again(5000)],
  ['attempts that went in seconds are not the last', status(500), 5, CALM, again(10_000, 0), 9000],
  ['500 comes again after 10 s, alone', status(500), 0, CALM, again(10_000, 0)],
  ['then 60 s', status(502), 1, CALM, again(60_000, 0)],
  ['then 300 s', status(504), 2, CALM, again(300_000, 0)],
  ['then it is final', status(599), 3, CALM, final()],
  ['a broken exchange: 10 s, alone', failure('exchange'), 0, CALM, again(10_000, 0)],
  ['60 s', failure('exchange'), 1, CALM, again(60_000, 0)],
  ['300 s', failure('exchange'), 2, CALM, again(300_000, 0)],
  ['final', failure('exchange'), 3, CALM, final()],
  ['no connection: 10 s, the whole host', failure('connection'), 0, CALM, again(10_000)],
  ['60 s', failure('connection'), 1, unconnected(1), again(60_000)],
  ['300 s', failure('connection'), 2, unconnected(2), again(300_000)],
  ['final, and the origin with it', failure('connection'), 3, unconnected(3), final(0, true)],
  ['also by way of another URL', failure('connection'), 0, unconnected(3), final(0, true)],
  ['a URL at its end condemns nobody', failure('connection'), 3, CALM, final(10_000)],
  ['each counts its own', failure('connection'), 2, CALM, again(300_000, 10_000)],
  ['URLs that fail fast are not lost', failure('connection'), 6, CALM, again(10_000), 9000],
  ['no answer: 10 s, alone', failure('no-answer'), 0, CALM, again(10_000, 0)],
  ['eight in a row are the host', failure('no-answer'), 0, unanswered(8), again(10_000)],
  ['which waits 60 s', failure('no-answer'), 0, unanswered(9, 1), again(60_000)],
  ['then 300 s', failure('no-answer'), 0, unanswered(10, 2), again(300_000)],
  ['then it is given up', failure('no-answer'), 0, unanswered(11, 3), final(0, true)],
  ['refused or silent is one row', failure('connection'), 0, unanswered(9, 3), final(0, true)],
  ['an address not to be asked', failure('forbidden-address'), 0, CALM, { kind: 'blocked' }],
  ['a request taken back', failure('withdrawn'), 9, unconnected(9), { kind: 'withdrawn' }],
];

/** As long as the waits before so many attempts take. */
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

test('retry: by chance a back-off is up to twice as long, Retry-After is what it says', () => {
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
