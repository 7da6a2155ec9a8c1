// Turns the result of a robots.txt request into an outcome: rules, no rules, another URL to
// request, or an unreachable host.

import type { PageRequest } from '../core/protocol/effects.ts';
import type { FoundLink, Outcome, RobotsOutcome } from '../core/protocol/outcome.ts';
import type { FetchResult } from '../fetch/fetch.ts';
import { originOf } from '../frontier/outcome/robots-gate.ts';
import { type RobotsAccess, robotsAccess, robotsUrlOf } from '../robots/access.ts';
import { parseCrawlUrl, type RequestForm, URL_CHARS_MAX } from '../url/crawl-url.ts';
import { REDIRECTED } from '../url/redirect-reasons.ts';
import { CAUSES, failureOutcome, GIVEN_UP } from './fetch-failure.ts';
import { HOST_CHARS_MAX, type PageLinks } from './page-links.ts';

export interface RobotsAnswersParts {
  /** Whether `scope.hosts` includes the host, regardless of rules for single URLs. */
  readonly isOfCrawl: (host: string) => boolean;
  /** Returns the Sitemap lines of a robots.txt as absolute URLs. */
  readonly sitemapsOf: (body: Uint8Array, url: string) => readonly string[];
  /** Whether the URL must not be requested because of its address, name or port. */
  readonly isForbidden: (url: RequestForm) => boolean;
}

export class RobotsAnswers {
  readonly #p: RobotsAnswersParts;
  readonly #links: PageLinks;

  constructor(parts: RobotsAnswersParts, links: PageLinks) {
    this.#p = parts;
    this.#links = links;
  }

  outcomeOf(request: PageRequest, result: FetchResult): Outcome {
    // A request that this agent cancelled says nothing about the server and is repeated. A
    // forbidden address must not be requested for pages either.
    if (result.kind === 'failure' && GIVEN_UP.has(CAUSES[result.code])) {
      return failureOutcome(request, result);
    }
    const access = this.#allowed(robotsAccess(result, request.fetchUrl));
    const answer: RobotsOutcome['answer'] =
      access.kind === 'rules'
        ? { ...access, sitemaps: this.#named(access.body, request) }
        : access.kind === 'redirect' && access.host !== request.host
          ? this.#elsewhere(access)
          : access;
    const { ip, durationMs, endedAt } = result;
    const waitMs = result.kind === 'response' ? result.retryAfterMs : null;
    const wait = waitMs === null ? {} : { retryAfterMs: waitMs };
    return { kind: 'robots', request, ip, durationMs, endedAt, answer, ...wait };
  }

  /**
   * A redirect to a forbidden address makes the rules unreachable, not missing. A redirect to a URL
   * beyond the length limit counts as missing rules: such a row would block the stream of rows to a
   * backup.
   */
  #allowed(access: RobotsAccess): RobotsAccess {
    if (access.kind !== 'redirect') return access;
    const { location, host } = access;
    if (location.length > URL_CHARS_MAX || host.length > HOST_CHARS_MAX) {
      return { kind: 'allowAll', reason: 'redirect target too long' };
    }
    if (!this.#p.isForbidden(location)) return access;
    const code = 'blocked_address';
    return { kind: 'unreachable', reason: code, error: code, status: null, retryAfterMs: null };
  }

  /**
   * A redirect to another host is followed only to that host's own robots.txt, and only if the host
   * is part of the crawl. `scope.include` and `scope.exclude` restrict the pages crawled, not the
   * rules obeyed.
   */
  #elsewhere(access: RobotsRedirect): RobotsOutcome['answer'] {
    const { location, host } = access;
    const isItsOwn = location === robotsUrlOf(location);
    if (!isItsOwn) return withoutRules(location, 'which is not /robots.txt');
    if (!this.#p.isOfCrawl(host)) return withoutRules(location, 'out of scope');
    return { ...access, origin: originOf(location) };
  }

  /** The sitemaps of a robots.txt that are in scope. */
  #named(body: Uint8Array, request: PageRequest): FoundLink[] {
    const links = new Map<string, FoundLink>();
    for (const text of this.#p.sitemapsOf(body, request.fetchUrl)) {
      const parsed = parseCrawlUrl(text);
      if ('refused' in parsed) continue;
      const link = { ...this.#links.identified(parsed), sitemap: true };
      if (links.has(link.url) || !this.#links.accepts(link)) continue;
      links.set(link.url, link);
    }
    return [...links.values()];
  }
}

type RobotsRedirect = Extract<RobotsAccess, { kind: 'redirect' }>;

/** A redirect that is not followed counts as a missing file. */
function withoutRules(location: string, why: string): RobotsOutcome['answer'] {
  return { kind: 'allowAll', reason: `${REDIRECTED}${location}, ${why}` };
}
