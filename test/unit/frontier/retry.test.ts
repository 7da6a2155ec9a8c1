import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FailureOutcome, ResponseOutcome } from '../../../agent/core/outcome.ts';
import { type Trouble, type Verdict, verdictOn } from '../../../agent/frontier/retry.ts';

const CALM: Trouble = { busy: 0, busyUntil: 0, busySince: null, unconnected: 0 };
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
const busyFor = (busy: number, hours: number): Trouble => {
  return {
    ...CALM,
    busy,
    busyUntil: ended.endedAt - 1,
    busySince: ended.endedAt - hours * HOUR_MS,
  };
};
const quietFor = (minutes: number): Trouble => {
  return { ...CALM, busy: 3, busyUntil: ended.endedAt - minutes * 60_000 };
};
const unconnected = (times: number): Trouble => ({ ...CALM, unconnected: times });

const rows: [string, ResponseOutcome | FailureOutcome, number, Trouble, Verdict][] = [
  ['a page that came is final', status(200), 0, CALM, final()],
  ['a redirect is final', status(301), 0, CALM, final()],
  ['not found is final', status(404), 0, CALM, final()],
  ['gone is final', status(410), 0, CALM, final()],
  ['429 with Retry-After waits it', status(429, 7_000), 0, CALM, again(7_000)],
  ['503 with Retry-After waits it', status(503, 1_000), 3, busyFor(3, 1), again(1_000)],
  ['Retry-After of 0 is obeyed', status(503, 0), 0, CALM, again(0)],
  ['429 without one waits 60 s', status(429), 0, CALM, again(60_000)],
  ['which doubles with each in a row', status(429), 1, busyFor(1, 1), again(120_000)],
  ['and again', status(503), 2, busyFor(2, 1), again(240_000)],
  ['30 quiet minutes forgive all steps', status(503), 0, quietFor(30), again(60_000)],
  ['29 do not', status(503), 0, quietFor(29), again(480_000)],
  ['for the host, whichever URL it was', status(503), 0, busyFor(5, 1), again(1_920_000)],
  ['no wait beyond a day by doubling', status(503), 0, busyFor(30, 1), again(24 * HOUR_MS)],
  ['nor by Retry-After', status(503, 1e12), 0, CALM, again(24 * HOUR_MS)],
  ['the seventh busy answer is not the last', status(503), 6, CALM, again(60_000)],
  ['the eighth is', status(503), 7, busyFor(7, 1), final(128 * 60_000)],
  ['and gives the host up after two hours of it', status(429, 5), 7, busyFor(9, 2), final(5, true)],
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
  ['an address not to be asked', failure('forbidden-address'), 0, CALM, { kind: 'blocked' }],
  ['a request taken back', failure('withdrawn'), 9, unconnected(9), { kind: 'withdrawn' }],
];

for (const [name, outcome, attempts, trouble, verdict] of rows) {
  test(`retry: ${name}`, () =>
    assert.deepEqual(
      verdictOn(outcome, attempts, trouble, () => 0),
      verdict,
    ));
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
  assert.equal(waitWith(0.999, 5000), 5000);
});
