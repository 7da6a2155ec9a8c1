// Applies the outcome of a page request: saves the page record or requeues the page, sets the
// host's back-off, and decides whether queued URLs of the host end too. Runs in the turn's
// transaction. Changes the host record; the caller saves it.

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
import type { FrontierStore, HostRecord, QueueDrop } from '../frontier-store.ts';
import { type Novelty, slowDownOf } from './novelty.ts';
import {
  believedWait,
  type Chance,
  holdsHost,
  isBusy,
  signOf,
  stepsAt,
  verdictOn,
} from './retry.ts';
import { originOf } from './robots-gate.ts';

/** The agent's event log, shown in the view `events` and in `status`. */
export interface TrapLog {
  record(at: number, kind: 'trap', detail: Readonly<Record<string, unknown>>): void;
}

export interface OutcomeHandlingParts {
  readonly store: FrontierStore;
  readonly events: TrapLog;
  readonly right: { waitUntil(host: Host, untilMs: number): void };
  readonly chance: Chance;
  readonly novelty: Novelty;
  /** Whether to fill the view `links` (`archive.links`). */
  readonly keepLinks: boolean;
}

export interface OutcomeHandling {
  readonly finished: Finished;
  /** Queued URLs that end because of this outcome. */
  readonly queueDrop: QueueDrop | null;
  /** The outcome requeued another page that had ended. */
  readonly isReopened?: true;
}

const NO_URLS: NamedUrls = { count: 0, part: () => [] };
export const NO_PAGE: OutcomeHandling = { finished: { page: null }, queueDrop: null };

/** Error code of URLs whose host answered only 429 and 503. */
const BUSY_ERROR = 'host_busy';
/** Error code of URLs whose host was reached but did not respond. */
const SILENT_ERROR = 'host_silent';
/** Error code of URLs whose host gave only slow failures. */
const FAILING_ERROR = 'host_failing';
/** Error code of a page that redirects to itself more than `FORM_HOPS_MAX` times. */
const LOOP_ERROR = 'redirect_loop';
/** Ends the queue of a host at a forbidden address. */
export const ALL_BLOCKED: QueueDrop = {
  origin: null,
  as: { kind: 'skipped', reason: 'blocked' },
};
/** Maximum of redirects from one form of a page to another. */
const FORM_HOPS_MAX = 5;
/** Redirects in a row that keep the depth, as many as browsers follow. */
const LEVEL_REDIRECTS_MAX = 20;

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
    return testEnded(outcome);
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
      const queueDrop = verdict.givesUp ? abandonOrigin(outcome) : null;
      const reopened = outcome.kind === 'response' && ledBack(parts, record, outcome);
      return { finished: { page }, queueDrop, ...(reopened && { isReopened: true }) };
    }
  }
}

/** A host that serves a page that it served before is not abandoned. */
function testEnded(outcome: ResponseOutcome | FailureOutcome): OutcomeHandling {
  const isForbidden = outcome.kind === 'failure' && outcome.cause === 'forbidden-address';
  switch (signOf(outcome, 0)) {
    case 'answers':
    case 'busy':
      return NO_PAGE;
    case 'nothing':
      return isForbidden ? { ...NO_PAGE, queueDrop: ALL_BLOCKED } : NO_PAGE;
    default:
      return { ...NO_PAGE, queueDrop: abandonOrigin(outcome) };
  }
}

/** Queues the page in the form that its redirect leads to; after too many redirects it fails. */
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
  return { finished: { page: { host, url } }, queueDrop: null };
}

/**
 * Handles redirects that led from a page over other URLs back to it. The page is requeued if the
 * new request would differ: in its form, or in a cookie that was set on the way.
 * @returns whether the page was requeued
 */
function ledBack(
  { store, keepLinks }: OutcomeHandlingParts,
  { number, host }: HostRecord,
  { request, redirectTo, links, bringsCookies }: ResponseOutcome,
): boolean {
  if (redirectTo === null) return false;
  const target = links.find(({ redirect }) => redirect);
  if (target?.host !== host) return false;
  const to = { fetchUrl: formOf(target), isOther: bringsCookies === true };
  const way = { from: request.url, ...to, isWhole: keepLinks, hopsMax: FORM_HOPS_MAX };
  return store.requestAgainAs(number, target.url, way);
}

/** Delays the host until `endedAt + waitMs`; its next owner learns this time with the yield. */
export function holdHost(
  { right }: Pick<OutcomeHandlingParts, 'right'>,
  record: HostRecord,
  endedAt: number,
  waitMs: number,
): void {
  if (waitMs <= 0) return;
  record.notBefore = Math.max(believedWait(record.notBefore, endedAt), endedAt + waitMs);
  right.waitUntil(record.host, record.notBefore);
}

/** The host responded, and neither with 429 nor 503. */
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
 * The host responded 429 or 503. Each back-off adds one step: a response to a request that started
 * before the end of the last back-off adds none. If the server names the wait with Retry-After, the
 * wait grows with the time since the first such response and not by steps.
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
      // This page's failure does not reset the consecutive slow or unanswered ones.
      if (record.unanswered === 0) record.unconnected = 0;
      return;
    case 'busy':
    case 'nothing':
      return;
  }
}

/** Updates the duplicate score. Each step of the slow-down records an event with sample URLs. */
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
 * Ends the other queued URLs of the origin. The host's failure counters are kept until all have
 * ended: if the visit is lost before that, one more failure ends the rest.
 */
function abandonOrigin(outcome: ResponseOutcome | FailureOutcome): QueueDrop {
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
  store.recordPage(hostNumber, { ...common, ...answer, ...optionalFields(outcome) });
  const { outOfScope } = outcome;
  if (outOfScope > 0 && isFirstRead(outcome)) store.countOutOfScope(hostNumber, outOfScope);
}

/** Whether no earlier round counted the page's links: none read it or followed its redirect. */
function isFirstRead({ request: { previous: former } }: ResponseOutcome): boolean {
  const status = former?.status ?? 0;
  return status < 200 || status >= 400;
}

/** The optional fields of a page record. */
function optionalFields(outcome: ResponseOutcome) {
  const { archived, canonical, noindex, noarchive, etag, lastModified, unchanged } = outcome;
  return {
    ...(archived && placeOf(archived)),
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
  // A response that says "not modified" has no links; those saved before stay.
  if (status === 304 || linksStand) return;
  store.saveLinks(
    request.url,
    links.map(({ url }) => url),
    request.previous !== undefined,
  );
}

/** The place in the archive. */
function placeOf({ file, offset, payload }: ArchivedAt) {
  return { warcFile: file, warcOffset: offset, ...(payload !== undefined && { payload }) };
}

/**
 * The links of a page that this outcome ends (a page that will be requested again has none), or the
 * sitemaps of a robots.txt.
 * @param record - null: the request is not open
 */
export function namedBy(
  outcome: Outcome,
  record: HostRecord | null,
  store: FrontierStore,
): NamedUrls {
  if (!record || outcome.kind === 'failure') return NO_URLS;
  if (outcome.kind === 'robots') return sitemapsOf(outcome);
  if (outcome.request.isTest) return NO_URLS;
  const { links, request, moved } = outcome;
  // Chance affects only waits, not the kind of the verdict.
  const { kind } = verdictOn(outcome, request.attempts, record, () => 0);
  if (kind !== 'final' || moved !== undefined) return NO_URLS;
  const { number } = record;
  const isLevel = () =>
    store.redirectsTo(number, request.url, LEVEL_REDIRECTS_MAX) < LEVEL_REDIRECTS_MAX;
  const placed = (link: FoundLink) => ({ host: link.host, item: itemOf(link, request, isLevel) });
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

/**
 * A link's depth: 0 on another host, else the page's depth, plus 1 unless it is a redirect.
 *
 * @param isLevel - false: the redirect follows so many others that it counts as a link, so that an
 *   endless chain ends at the greatest depth
 */
function itemOf(link: FoundLink, from: PageRequest, isLevel: () => boolean): UrlItem {
  const here = link.host === from.host;
  const depth = here ? from.depth + (link.redirect && isLevel() ? 0 : 1) : 0;
  const { url, fetchUrl, sitemap } = link;
  const item = { url, depth, referrer: from.url };
  if (fetchUrl === undefined && !sitemap) return item;
  return { ...item, ...(fetchUrl !== undefined && { fetchUrl }), ...(sitemap && { sitemap }) };
}
