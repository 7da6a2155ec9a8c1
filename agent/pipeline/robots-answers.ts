// What the answer to a request for robots.txt means: rules, none, another place to ask, or a host
// that is out of reach. Used by the page pipeline.

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
  /** Whether `scope.hosts` has the host, whichever of its URLs are in scope. */
  readonly isOfCrawl: (host: string) => boolean;
  /** The Sitemap lines of a robots.txt, absolute. */
  readonly sitemapsOf: (body: Uint8Array, url: string) => readonly string[];
  /** Whether the URL itself tells that it must not be asked: its address, name or port. */
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
    // What this agent gave up itself says nothing about the server: it is asked again.
    // And an address that must not be asked is not asked for pages either.
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
   * Rules that lie where nothing may be asked are out of reach, not missing. At an address longer
   * than URLs may be they count as missing: in a row it would stop the stream of rows to a backup.
   */
  #allowed(access: RobotsAccess): RobotsAccess {
    if (access.kind !== 'redirect') return access;
    const { location, host } = access;
    if (location.length > URL_CHARS_MAX || host.length > HOST_CHARS_MAX) {
      return { kind: 'allowAll', reason: 'redirected too far to tell' };
    }
    if (!this.#p.isForbidden(location)) return access;
    const code = 'blocked_address';
    return { kind: 'unreachable', reason: code, error: code, status: null, retryAfterMs: null };
  }

  /**
   * Another host is asked for its own robots.txt and nothing else, where it is part of the crawl.
   * `scope.include` and `scope.exclude` say which pages are crawled, not whose rules are obeyed.
   */
  #elsewhere(access: RobotsRedirect): RobotsOutcome['answer'] {
    const { location, host } = access;
    const isItsOwn = location === robotsUrlOf(location);
    if (!isItsOwn) return withoutRules(location, 'which is not /robots.txt');
    if (!this.#p.isOfCrawl(host)) return withoutRules(location, 'out of scope');
    return { ...access, origin: originOf(location) };
  }

  /** The sitemaps that a robots.txt names, by the usual scope. */
  #named(body: Uint8Array, request: PageRequest): FoundLink[] {
    const links = new Map<string, FoundLink>();
    for (const text of this.#p.sitemapsOf(body, request.fetchUrl)) {
      const parsed = parseCrawlUrl(text);
      if ('refused' in parsed) continue;
      const link = this.#links.identified(parsed);
      if (links.has(link.url) || !this.#links.accepts(link)) continue;
      links.set(link.url, { ...link, sitemap: true });
    }
    return [...links.values()];
  }
}

type RobotsRedirect = Extract<RobotsAccess, { kind: 'redirect' }>;

/** Where the file leads nowhere that anybody asks: as if there were none. */
function withoutRules(location: string, why: string): RobotsOutcome['answer'] {
  return { kind: 'allowAll', reason: `${REDIRECTED}${location}, ${why}` };
}
