// Judges the requests of a storm at its web by the rules of test/web/judge.ts, except while a cut
// cluster may act as several. Then the requests at a host must be those of that many polite
// crawlers, and each of them may fetch a page once. Everything else is a violation here; storm.ts
// subtracts what a crash may cost. Pure.

import { endingOf, type Finding } from '../web/judge.ts';
import { plainTarget, type SyntheticWeb } from '../web/model.ts';
import type { LoggedRequest } from '../web/request-log.ts';
import type { Fault } from './storm-plan.ts';
import { leaseShare, moreFetches, moreSides, type Terms } from './storm-promises.ts';

/** From the start of a fault until all agents see each other again, on the web's clock. */
export interface Span {
  readonly fault: Fault;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface StormJudgement {
  /** Final answers of a URL beyond the first and beyond one for each side of a cut. */
  readonly again: Finding;
  /** Requests that as many polite crawlers as there are sides would not have made. */
  readonly strays: Finding;
}

export interface Visit {
  readonly startMs: number;
  readonly endMs: number;
}

/** Tolerance of the delay, because timers and clocks of two processes differ by about this much. */
const slackMs = 1;
/**
 * The tolerance if leases lapse because of link faults: the web may notice late that a client
 * aborted a request.
 */
const lapseSlackMs = 50;
/** Maximum number of samples in a finding. */
const samplesMax = 5;

export function judgeStorm(
  web: SyntheticWeb,
  requests: readonly LoggedRequest[],
  spans: readonly Span[],
  terms: Terms & { readonly delayMs: number },
): StormJudgement {
  const byHost = Map.groupBy(requests, ({ host }) => host);
  const strays = [...byHost.values()].flatMap((list) => {
    return straysAmong(list, spans, terms).map(({ host, path }) => `${host}${path}`);
  });
  const again = [...byHost.values()].flatMap((list) => fetchedAgain(web, list, spans, terms));
  return { again: finding(again), strays: finding(strays) };
}

/** Requests at one host for which none of its visitors was free. */
export function straysAmong<One extends Visit>(
  visits: readonly One[],
  spans: readonly Span[],
  terms: Terms & { readonly delayMs: number },
): One[] {
  const windows = spans.map(({ fault, fromMs, toMs }) => {
    const leaseMs = fault.kind === 'cut' ? leaseShare * terms.suspectAfterMs : 0;
    return { fromMs: fromMs + leaseMs, toMs, more: moreSides(fault, terms) };
  });
  const lapses = spans.filter(({ fault: { kind } }) => kind === 'cut' || kind === 'link');
  // End times of the last request of each visitor, latest first.
  let ends: number[] = [];
  return visits
    .toSorted((a, b) => a.startMs - b.startMs)
    .filter((visit) => {
      const { startMs, endMs } = visit;
      const sides = windows.reduce((sum, w) => sum + (isWithin(startMs, w) ? w.more : 0), 1);
      ends = ends.slice(0, sides);
      const slack = lapses.some((span) => isWithin(startMs, span)) ? lapseSlackMs : slackMs;
      const free = ends.findIndex((end) => startMs - end >= terms.delayMs - slack);
      const isStray = free === -1 && ends.length === sides;
      // The latest free visitor continues, so that the others are free for later requests.
      const ended = isStray ? ends.pop()! : free === -1 ? endMs : ends.splice(free, 1)[0]!;
      ends.push(Math.max(ended, endMs));
      ends.sort((a, b) => b - a);
      return isStray;
    });
}

/** URLs of one host, each repeated for every unexcused repetition of its fetch. */
function fetchedAgain(
  web: SyntheticWeb,
  list: readonly LoggedRequest[],
  spans: readonly Span[],
  terms: Terms,
): string[] {
  const windows = spans.flatMap(({ fault, fromMs, toMs }) => {
    const more = moreFetches(fault, terms);
    return more === 0 ? [] : [{ fromMs, toMs, more }];
  });
  const pages = list.filter(({ path }) => path !== '/robots.txt');
  return [...Map.groupBy(pages, ({ path }) => plainTarget(path))].flatMap(([target, times]) => {
    const left = windows.map(({ more }) => more);
    let answered = false;
    const again = times
      .toSorted((a, b) => a.startMs - b.startMs)
      .filter((request) => {
        const ending = endingOf(web, web.hostOf(request.host), request);
        const isSecond = answered && ending === 'final';
        answered ||= ending !== 'again';
        if (!isSecond) return false;
        const excuse = windows.findIndex((w, k) => left[k]! > 0 && isWithin(request.startMs, w));
        if (excuse !== -1) left[excuse]!--;
        return excuse === -1;
      });
    return again.map(({ host }) => `${host}${target}`);
  });
}

function isWithin(atMs: number, { fromMs, toMs }: Omit<Span, 'fault'>): boolean {
  return atMs >= fromMs && atMs <= toMs;
}

function finding(cases: readonly string[]): Finding {
  return { count: cases.length, samples: cases.slice(0, samplesMax) };
}
