// What a page request leaves behind: the page's record or its place back in the queue, the host's
// back-off, and whether the rest of the host's queue ends with it. Called by the visits for each
// outcome, within the turn's transaction; changes the host record, which the visits then save.

import type { PageRequest } from '../../core/protocol/effects.ts';
import type { Host, UrlItem } from '../../core/protocol/messages.ts';
import type {
  ArchivedAt,
  FailureOutcome,
  FoundLink,
  Outcome,
  ResponseOutcome,
  RobotsOutcome,
} from '../../core/protocol/outcome.ts';
import type { Finished, NamedUrls } from '../../core/protocol/visits-port.ts';
import { formOf, type RequestForm } from '../../url/crawl-url.ts';
import type { FrontierStore, HostRecord, QueueEnding } from '../frontier-store.ts';
import { type Novelty, slowDownOf } from './novelty.ts';
import { type Chance, holdsHost, isBusy, signOf, stepsAt, verdictOn } from './retry.ts';
import { originOf } from './robots-gate.ts';

/** The agent's log of events, behind the view `events` and the last lines of `status`. */
export interface TrapLog {
  record(at: number, kind: 'trap', detail: Readonly<Record<string, unknown>>): void;
}

export interface OutcomeHandlingParts {
  readonly store: FrontierStore;
  readonly events: TrapLog;
  readonly right: { waitUntil(host: Host, untilMs: number): void };
  readonly chance: Chance;
  readonly novelty: Novelty;
  /** Whether the view `links` is filled (`archive.links`). */
  readonly keepLinks: boolean;
}

export interface OutcomeHandling {
  readonly finished: Finished;
  /** Queued URLs that end with this one. */
  readonly ending: QueueEnding | null;
  /** A page that had ended is queued again. */
  readonly isReopened?: true;
}

const REOPENED = { isReopened: true } as const;
const NO_URLS: NamedUrls = { count: 0, part: () => [] };
export const NO_PAGE: OutcomeHandling = { finished: { page: null }, ending: null };

/** Error code of URLs given up because their host answered nothing but 429 and 503. */
const BUSY_ERROR = 'host_busy';
/** The same because it was reached and gave no answer. */
const SILENT_ERROR = 'host_silent';
/** The same because nothing but failures came, and took long. */
const FAILING_ERROR = 'host_failing';
/** Of a page that redirects to itself once more than `FORM_HOPS_MAX`. */
const LOOP_ERROR = 'redirect_loop';
/** Of a host whose address may not be asked. */
export const ALL_BLOCKED: QueueEnding = {
  origin: null,
  as: { kind: 'skipped', reason: 'blocked' },
};
/** As many redirects to the page's own identity are followed. */
const FORM_HOPS_MAX = 5;

export function pageEnded(
  parts: OutcomeHandlingParts,
  record: HostRecord,
  outcome: ResponseOutcome | FailureOutcome,
): OutcomeHandling {
  const { request, endedAt } = outcome;
  const verdict = verdictOn(outcome, request.attempts, record, parts.chance);
  const hostWaitMs = 'hostWaitMs' in verdict ? verdict.hostWaitMs : 0;
  noteTrouble(record, outcome, hostWaitMs);
  if (request.isTest) {
    holdHost(parts, record, endedAt, hostWaitMs);
    return tested(outcome);
  }
  switch (verdict.kind) {
    case 'withdrawn':
      return NO_PAGE;
    case 'blocked':
      parts.store.skip(record.number, request.url, 'blocked');
      return NO_PAGE;
    case 'again': {
      holdHost(parts, record, endedAt, verdict.hostWaitMs);
      const notBefore = endedAt + verdict.waitMs;
      const attempts = request.attempts + 1;
      const failedSince = request.failedSince ?? endedAt;
      parts.store.requeue(record.number, request.url, { attempts, failedSince, notBefore });
      return NO_PAGE;
    }
    case 'final': {
      holdHost(parts, record, endedAt, verdict.hostWaitMs);
      if (outcome.kind === 'response' && outcome.moved !== undefined) {
        return movedTo(parts.store, record, outcome, outcome.moved);
      }
      recordPage(parts.store, record.number, outcome);
      noteNovelty(parts, record, outcome);
      if (parts.keepLinks && outcome.kind === 'response') saveLinks(parts.store, outcome);
      const page = { host: request.host, url: request.url };
      const ending = verdict.givesUp ? giveUp(outcome) : null;
      const reopened = outcome.kind === 'response' && ledBack(parts.store, record, outcome);
      return { finished: { page }, ending, ...(reopened && REOPENED) };
    }
  }
}

/** Of a host that is to be given up: it is not, where it gives a page that it gave before. */
function tested(outcome: ResponseOutcome | FailureOutcome): OutcomeHandling {
  const isForbidden = outcome.kind === 'failure' && outcome.cause === 'forbidden-address';
  switch (signOf(outcome, 0)) {
    case 'answers':
    case 'busy':
      return NO_PAGE;
    case 'nothing':
      return isForbidden ? { ...NO_PAGE, ending: ALL_BLOCKED } : NO_PAGE;
    default:
      return { ...NO_PAGE, ending: giveUp(outcome) };
  }
}

/** The page is requested in its new form, without an end, or it has moved too often. */
function movedTo(
  store: FrontierStore,
  { number }: HostRecord,
  { request, endedAt, durationMs, ip }: ResponseOutcome,
  fetchUrl: RequestForm,
): OutcomeHandling {
  const { host, url } = request;
  const hops = (request.hops ?? 0) + 1;
  if (hops <= FORM_HOPS_MAX) {
    store.moveTo(number, url, { fetchUrl, hops });
    return NO_PAGE;
  }
  const message = `redirected to itself more than ${FORM_HOPS_MAX} times`;
  const common = { request, endedAt, durationMs, ip, message };
  recordPage(store, number, { ...common, kind: 'failure', code: LOOP_ERROR, cause: 'exchange' });
  return { finished: { page: { host, url } }, ending: null };
}

/**
 * Redirects led from a page over others and back to it. It is requested again where that is another
 * request than before: with a cookie that was set on the way, or in another form.
 */
function ledBack(
  store: FrontierStore,
  { number, host }: HostRecord,
  { request, redirectTo, links, bringsCookies }: ResponseOutcome,
): boolean {
  if (redirectTo === null) return false;
  const target = links.find(({ redirect }) => redirect);
  if (target?.host !== host) return false;
  const way = { from: request.url, fetchUrl: formOf(target), isOther: bringsCookies === true };
  return store.askAgain(number, target.url, { ...way, hopsMax: FORM_HOPS_MAX });
}

/** The host is left alone for `waitMs` from `endedAt`; whoever takes it over is told so too. */
export function holdHost(
  { right }: Pick<OutcomeHandlingParts, 'right'>,
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
  noteReached(record);
  noteNotBusy(record);
}

function noteNotBusy(record: HostRecord): void {
  record.busySince = null;
  record.blocks = 0;
}

function noteReached(record: HostRecord): void {
  record.unconnected = 0;
  record.unanswered = 0;
}

/**
 * The host said that it has enough. One step of back-off for each block: an answer to a request
 * that was made before the end of the last one says nothing new. Where the server names the wait,
 * the wait grows with the time since the first block and not by these steps.
 */
function noteBusy(record: HostRecord, outcome: ResponseOutcome, waitMs: number): void {
  const { endedAt, durationMs, retryAfterMs } = outcome;
  noteReached(record);
  record.busySince ??= endedAt;
  const steps = stepsAt(record, endedAt);
  const isNew = endedAt - durationMs >= record.busyUntil;
  if (isNew) record.blocks++;
  record.busy = isNew && retryAfterMs === null ? steps + 1 : steps;
  record.busyUntil = Math.max(record.busyUntil, endedAt + waitMs);
}

function noteTrouble(
  record: HostRecord,
  outcome: ResponseOutcome | FailureOutcome,
  waitMs: number,
): void {
  const { request } = outcome;
  const sign = signOf(outcome, request.attempts);
  if (outcome.kind === 'response') {
    if (isBusy(outcome.status)) return noteBusy(record, outcome, waitMs);
    noteNotBusy(record);
  }
  switch (sign) {
    case 'answers':
      return noteReached(record);
    case 'unreached':
      record.unconnected++;
      return;
    case 'unanswered':
    case 'failing':
      if (holdsHost(sign, record)) record.unconnected++;
      else if (sign === 'failing' && record.unanswered === 0) record.unconnected = 0;
      record.unanswered++;
      return;
    case 'reached':
      // A failure does not end a row of failures.
      if (record.unanswered === 0) record.unconnected = 0;
      return;
    case 'busy':
    case 'nothing':
      return;
  }
}

/** Each step of the slow-down is an event, with the pages that led to it. */
function noteNovelty(
  { events, novelty }: OutcomeHandlingParts,
  record: HostRecord,
  outcome: ResponseOutcome | FailureOutcome,
): void {
  if (outcome.kind === 'failure' || outcome.digest === null) return;
  const { digest, simhash, request, endedAt } = outcome;
  const { host, stale: before } = record;
  record.stale = novelty.count(host, request.url, { digest, simhash }, before);
  if (slowDownOf(record.stale) <= slowDownOf(before)) return;
  const samples = novelty.samples(host);
  events.record(endedAt, 'trap', { host, stale: record.stale, samples });
}

/**
 * The origin's other URLs end too. Until all have, the host's trouble stands in its record: where the
 * ending is lost with the visit, one more failure begins it again.
 */
function giveUp(outcome: ResponseOutcome | FailureOutcome): QueueEnding {
  const as = { kind: 'failed', error: hostError(outcome) } as const;
  return { origin: originOf(outcome.request.url), as, ofHost: true };
}

function hostError(outcome: ResponseOutcome | FailureOutcome): string {
  if (outcome.kind === 'response') return isBusy(outcome.status) ? BUSY_ERROR : FAILING_ERROR;
  if (outcome.cause === 'connection') return outcome.code;
  return outcome.cause === 'no-answer' ? SILENT_ERROR : FAILING_ERROR;
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
  const { outOfScope } = outcome;
  if (outOfScope > 0 && isFirstRead(outcome)) store.countOutOfScope(hostNumber, outOfScope);
}

/** Whether no earlier round has read the page, or followed its redirect, and counted its links. */
function isFirstRead({ request: { former } }: ResponseOutcome): boolean {
  const status = former?.status ?? 0;
  return status < 200 || status >= 400;
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

/**
 * The links of a page that will be recorded, not asked for again; the sitemaps of a robots.txt.
 *
 * @param record - null: the request is not open (any more)
 */
export function namedBy(outcome: Outcome, record: HostRecord | null): NamedUrls {
  if (!record || outcome.kind === 'failure') return NO_URLS;
  if (outcome.kind === 'robots') return sitemapsOf(outcome);
  if (outcome.request.isTest) return NO_URLS;
  const { links, request, moved } = outcome;
  // Chance decides about waits only.
  const { kind } = verdictOn(outcome, request.attempts, record, () => 0);
  if (kind !== 'final' || moved !== undefined) return NO_URLS;
  const placed = (link: FoundLink) => ({ host: link.host, item: itemOf(link, request) });
  return { count: links.length, part: (from, to) => links.slice(from, to).map(placed) };
}

function sitemapsOf({ answer, request }: RobotsOutcome): NamedUrls {
  if (answer.kind !== 'rules') return NO_URLS;
  const { sitemaps } = answer;
  const placed = ({ host, ...url }: FoundLink) => {
    return { host, item: { ...url, depth: 0, referrer: request.fetchUrl } };
  };
  return { count: sitemaps.length, part: (from, to) => sitemaps.slice(from, to).map(placed) };
}

/** Depth: 0 on another host, else the finder's + 1; a redirect on the same host keeps it. */
function itemOf(link: FoundLink, from: PageRequest): UrlItem {
  const here = link.host === from.host;
  const depth = here ? from.depth + (link.redirect ? 0 : 1) : 0;
  const { url, fetchUrl, sitemap } = link;
  const item = { url, depth, referrer: from.url };
  if (fetchUrl === undefined && !sitemap) return item;
  return { ...item, ...(fetchUrl !== undefined && { fetchUrl }), ...(sitemap && { sitemap }) };
}
