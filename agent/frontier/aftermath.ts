// What a page request leaves behind: the page's record or its place back in the queue, the host's
// back-off, and whether the rest of the host's queue ends with it. Called by the visits for each
// outcome, within the turn's transaction; changes the host record, which the visits then save.

import type { PageRequest } from '../core/effects.ts';
import type { Host, UrlItem } from '../core/messages.ts';
import type { ArchivedAt, FailureOutcome, ResponseOutcome } from '../core/outcome.ts';
import type { Finished, PlacedUrl } from '../core/visits.ts';
import { brakeOf, type Novelty } from './novelty.ts';
import { type Chance, isBusy, stepsAt, verdictOn } from './retry.ts';
import { originOf } from './robots-gate.ts';
import type { FrontierStore, HostRecord, QueueEnding } from './store.ts';

/** The agent's log of events, behind the view `events` and the last lines of `status`. */
export interface TrapLog {
  record(at: number, kind: 'trap', detail: Readonly<Record<string, unknown>>): void;
}

export interface AftermathParts {
  readonly store: FrontierStore;
  readonly events: TrapLog;
  readonly right: { waitUntil(host: Host, untilMs: number): void };
  readonly chance: Chance;
  readonly novelty: Novelty;
  /** Whether the view `links` is filled (`archive.links`). */
  readonly keepLinks: boolean;
}

export interface Aftermath {
  readonly finished: Finished;
  /** Queued URLs that end with this one. */
  readonly ending: QueueEnding | null;
}

/** Error code of URLs given up because their host answered nothing but 429 and 503. */
const BUSY_ERROR = 'host_busy';

export function pageEnded(
  parts: AftermathParts,
  record: HostRecord,
  outcome: ResponseOutcome | FailureOutcome,
): Aftermath {
  const { request, endedAt } = outcome;
  const verdict = verdictOn(outcome, request.attempts, record, parts.chance);
  noteTrouble(record, outcome, 'hostWaitMs' in verdict ? verdict.hostWaitMs : 0);
  switch (verdict.kind) {
    case 'withdrawn':
      return { finished: { page: null }, ending: null };
    case 'blocked':
      parts.store.skip(record.number, request.url, 'blocked');
      return { finished: { page: null }, ending: null };
    case 'again': {
      holdHost(parts, record, endedAt, verdict.hostWaitMs);
      const notBefore = endedAt + verdict.waitMs;
      parts.store.requeue(record.number, request.url, request.attempts + 1, notBefore);
      return { finished: { page: null }, ending: null };
    }
    case 'final': {
      holdHost(parts, record, endedAt, verdict.hostWaitMs);
      recordPage(parts.store, record.number, outcome);
      noteNovelty(parts, record, outcome);
      const links = outcome.kind === 'response' ? linksOf(outcome) : [];
      if (parts.keepLinks && outcome.kind === 'response') saveLinks(parts.store, outcome);
      const page = { host: request.host, url: request.url, links };
      const ending = verdict.givesUp ? giveUp(record, outcome) : null;
      return { finished: { page }, ending };
    }
  }
}

/** The host is left alone for `waitMs` from `endedAt`; whoever takes it over is told so too. */
export function holdHost(
  { right }: Pick<AftermathParts, 'right'>,
  record: HostRecord,
  endedAt: number,
  waitMs: number,
): void {
  if (waitMs <= 0) return;
  record.notBefore = Math.max(record.notBefore, endedAt + waitMs);
  right.waitUntil(record.host, record.notBefore);
}

/** The host was reached, and did not say that it has enough. */
export function noteAnswer(record: HostRecord): void {
  record.unconnected = 0;
  record.busySince = null;
}

/**
 * The host said that it has enough. One step of back-off for each block: an answer to a request
 * that was made before the end of the last one says nothing new, and a server that names the wait
 * itself needs no growing one.
 */
function noteBusy(record: HostRecord, outcome: ResponseOutcome, waitMs: number): void {
  const { endedAt, durationMs, retryAfterMs } = outcome;
  record.unconnected = 0;
  record.busySince ??= endedAt;
  const steps = stepsAt(record, endedAt);
  const isStep = retryAfterMs === null && endedAt - durationMs >= record.busyUntil;
  record.busy = isStep ? steps + 1 : steps;
  record.busyUntil = Math.max(record.busyUntil, endedAt + waitMs);
}

function noteTrouble(
  record: HostRecord,
  outcome: ResponseOutcome | FailureOutcome,
  waitMs: number,
): void {
  if (outcome.kind === 'response') {
    if (isBusy(outcome.status)) noteBusy(record, outcome, waitMs);
    else noteAnswer(record);
  } else if (outcome.cause === 'connection') record.unconnected++;
  // A broken exchange says nothing of how busy the host is, but it was reached.
  else if (outcome.cause === 'exchange') record.unconnected = 0;
}

/** Each step of the brake is told of, with the pages that led to it. */
function noteNovelty(
  { events, novelty }: AftermathParts,
  record: HostRecord,
  outcome: ResponseOutcome | FailureOutcome,
): void {
  if (outcome.kind === 'failure' || outcome.digest === null) return;
  const { digest, simhash, request, endedAt } = outcome;
  const { host, stale: before } = record;
  record.stale = novelty.count(host, request.url, { digest, simhash }, before);
  if (brakeOf(record.stale) <= brakeOf(before)) return;
  const samples = novelty.samples(host);
  events.record(endedAt, 'trap', { host, stale: record.stale, samples });
}

/** The origin's other URLs end too; a later one finds the host with a clean slate. */
function giveUp(record: HostRecord, outcome: ResponseOutcome | FailureOutcome): QueueEnding {
  record.unconnected = 0;
  record.busy = 0;
  record.busyUntil = 0;
  record.busySince = null;
  const error = outcome.kind === 'response' ? BUSY_ERROR : outcome.code;
  return { origin: originOf(outcome.request.url), as: { kind: 'failed', error } };
}

function recordPage(
  store: FrontierStore,
  hostNumber: number,
  outcome: ResponseOutcome | FailureOutcome,
): void {
  const { request, endedAt, durationMs } = outcome;
  const attempts = request.attempts + 1;
  const common = { url: request.url, fetchedAt: endedAt, durationMs, attempts };
  if (outcome.kind === 'failure') {
    const none = { status: null, contentType: null, bytes: 0, digest: null, redirectTo: null };
    store.recordPage(hostNumber, { ...common, ...none, error: outcome.code });
    return;
  }
  const { status, contentType, bytes, digest, redirectTo, note: error } = outcome;
  const answer = { status, contentType, bytes, digest, redirectTo, error };
  store.recordPage(hostNumber, { ...common, ...answer, ...saidBy(outcome) });
  if (outcome.outOfScope > 0) store.countOutOfScope(hostNumber, outcome.outOfScope);
}

/** What not every page has. */
function saidBy(outcome: ResponseOutcome) {
  const { archived, canonical, noindex, noarchive, etag, lastModified, unchanged } = outcome;
  return {
    ...(archived && placeOf(outcome.request, archived)),
    ...(etag !== undefined && { etag }),
    ...(lastModified !== undefined && { lastModified }),
    ...(unchanged && { unchanged }),
    ...(canonical !== undefined && { canonical }),
    ...(noindex && { noindex }),
    ...(noarchive && { noarchive }),
  };
}

function saveLinks(store: FrontierStore, outcome: ResponseOutcome): void {
  const { request, status, links, linksStand } = outcome;
  // An answer that the page is as it was has no links to tell.
  if (status === 304 || linksStand) return;
  store.saveLinks(
    request.url,
    links.map(({ url }) => url),
  );
}

/** The URL of the first record is told where it is not the page's own. */
function placeOf(request: PageRequest, { file, offset, original }: ArchivedAt) {
  const place = { warcFile: file, warcOffset: offset };
  if (!original) return place;
  const { payload, url, at } = original;
  const from = url === request.fetchUrl ? {} : { originalUrl: url };
  return { ...place, payload, originalAt: at, ...from };
}

function linksOf(outcome: ResponseOutcome): PlacedUrl[] {
  const { links, request } = outcome;
  return links.map((link) => ({ host: link.host, item: itemOf(link, request) }));
}

/** Depth: 0 on another host, else the finder's + 1; a redirect on the same host keeps it. */
function itemOf(link: ResponseOutcome['links'][number], from: PageRequest): UrlItem {
  const here = link.host === from.host;
  const depth = here ? from.depth + (link.redirect ? 0 : 1) : 0;
  const item = { url: link.url, depth, referrer: from.url };
  return link.fetchUrl === undefined ? item : { ...item, fetchUrl: link.fetchUrl };
}
