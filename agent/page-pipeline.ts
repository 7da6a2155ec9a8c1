// From a request of the visits to its outcome: fetch, then for pages parse, scope and redirect,
// for robots.txt what the answer means. Composed here of the fetch, parse and robots folders,
// which do not know one another; agent.ts pushes the outcome into the next turn.

import type { Capture } from './archive/capture.ts';
import type { PageRequest } from './core/effects.ts';
import type {
  ArchivedAt,
  FailureOutcome,
  FoundLink,
  Outcome,
  RobotsOutcome,
} from './core/outcome.ts';
import type {
  Fetcher,
  FetchFailureCode,
  FetchResponse,
  FetchResult,
  RawExchange,
} from './fetch/fetch.ts';
import { originOf } from './frontier/robots-gate.ts';
import type { PageInput, ParsedPage } from './parse/page.ts';
import {
  headerDirectives,
  NO_DIRECTIVES,
  type RobotsDirectives,
  togetherDirectives,
} from './parse/robots-directives.ts';
import { archivedOf, conditionsOf, notModified, UNCHANGED, validatorsOf } from './revalidation.ts';
import { type RobotsAccess, robotsAccess, robotsUrlOf } from './robots/access.ts';
import { ROBOTS_BYTES_MAX } from './robots/robots-txt.ts';
import { readSitemap, SITEMAP_BYTES_MAX, type Sitemap } from './sitemap/read-sitemap.ts';
import { type CrawlUrl, parseCrawlUrl, URL_CHARS_MAX } from './url/crawl-url.ts';
import { REDIRECTED } from './url/redirect-reasons.ts';

/** Links to longer names count as out of scope: no name in the DNS has more than 253 characters. */
const HOST_CHARS_MAX = 255;
/** As much of a Content-Type header as is recorded. */
const CONTENT_TYPE_CHARS_MAX = 200;

/** Types of which the root element says whether they are a sitemap or a feed. */
const XML = /^(?:text|application)\/(?:(?!xhtml)[\w.-]+\+)?xml\b/i;
const PACKED_SITEMAP = /^[^?#]+\.(?:xml|txt)\.gz$/i;
/** An index that an index of an index names is read, but leads nowhere. */
const INDEX_DEPTH_MAX = 1;
/** Of the files of one index; a site of fifty million pages is not crawled in one go. */
const INDEX_FILES_MAX = 1000;

export interface PipelineParts {
  readonly fetcher: Fetcher;
  /** `others`: how many further exchanges are under way. */
  readonly parse: (input: PageInput, others: number) => Promise<ParsedPage>;
  readonly inScope: (host: string, identity: string) => boolean;
  /** Whether `scope.hosts` has the host, whichever of its URLs are in scope. */
  readonly isOfCrawl: (host: string) => boolean;
  /** Gives a URL the identity that the config's rules leave it. */
  readonly identify: (url: CrawlUrl) => CrawlUrl;
  /** This crawler's name, as pages address it. */
  readonly productToken: string;
  /** Whether what a page shows is fetched as well. */
  readonly embeds: boolean;
  readonly bodyBytesMax: number;
  /** The Sitemap lines of a robots.txt, absolute. */
  readonly sitemapsOf: (body: Uint8Array, url: string) => readonly string[];
  /** Whether the config names the URL as a sitemap. */
  readonly isSitemap: (identity: string) => boolean;
  readonly mayWrite: (request: PageRequest) => boolean;
  /** Whether the URL itself tells that it must not be asked: its address, name or port. */
  readonly isForbidden: (url: string) => boolean;
  /** No connection came about. */
  readonly onUnreachable?: (request: PageRequest) => void;
  /**
   * Gives the place once the exchange is on disk, null where it cannot be; `others`: how many
   * further exchanges are under way. Absent: no archive.
   */
  readonly archive?: (
    capture: Capture,
    body: readonly Uint8Array[],
    others: number,
  ) => Promise<ArchivedAt | null>;
}

export class PagePipeline {
  readonly #p: PipelineParts;
  readonly #open = new Map<number, { request: PageRequest; abort: AbortController }>();

  constructor(parts: PipelineParts) {
    this.#p = parts;
  }

  /** Makes the request; whatever happens becomes an outcome. Never rejects. */
  async run(request: PageRequest): Promise<Outcome> {
    const abort = new AbortController();
    this.#open.set(request.id, { request, abort });
    const isRobots = request.kind === 'robots';
    const declared = !isRobots && this.#isDeclared(request);
    const pageMax = declared ? SITEMAP_BYTES_MAX : this.#p.bodyBytesMax;
    const result = await this.#p.fetcher.fetch({
      headers: conditionsOf(request, this.#p.archive !== undefined),
      url: request.fetchUrl,
      // Of a page, types without links are not read to the end; a sitemap may come as any.
      kind: declared ? 'robots' : request.kind,
      bodyBytesMax: isRobots ? ROBOTS_BYTES_MAX : pageMax,
      signal: abort.signal,
      mayWrite: () => this.#p.mayWrite(request),
      ...(request.address === undefined ? {} : { address: request.address }),
    });
    this.#open.delete(request.id);
    if (result.kind === 'failure' && UNREACHABLE.has(result.code)) this.#p.onUnreachable?.(request);
    if (result.kind === 'failure') {
      return isRobots ? this.#robots(request, result) : failureOutcome(request, result);
    }
    const archiving = this.#archive(request, result);
    const outcome = isRobots ? this.#robots(request, result) : await this.#page(request, result);
    const archived = await archiving;
    if (archived === undefined) return outcome;
    return archived === null ? unarchived(request, result) : { ...outcome, archived };
  }

  /** Undefined: nothing is archived. Null: it cannot be. */
  async #archive(
    request: PageRequest,
    response: FetchResponse,
  ): Promise<ArchivedAt | null | undefined> {
    const { raw } = response;
    if (raw === null) return undefined;
    return this.#p.archive?.(captureOf(request, response, raw), raw.body, this.#open.size);
  }

  /** Whether the server was asked only for what has changed. */
  #isConditional(request: PageRequest): boolean {
    return Object.keys(conditionsOf(request, this.#p.archive !== undefined)).length > 0;
  }

  abort(id: number): void {
    this.#open.get(id)?.abort.abort();
  }

  abortAll(): void {
    for (const { abort } of this.#open.values()) abort.abort();
  }

  /** What is asked of the host now, one request at a time; null: nothing. */
  openAt(host: string): { readonly kind: PageRequest['kind']; readonly url: string } | null {
    for (const { request } of this.#open.values()) {
      if (request.host === host) return { kind: request.kind, url: request.fetchUrl };
    }
    return null;
  }

  async #page(request: PageRequest, response: FetchResponse): Promise<Outcome> {
    const { status, contentType, bytes, truncated, retryAfterMs, ip, durationMs, endedAt } =
      response;
    if (status === 304 && request.former && this.#isConditional(request)) {
      return notModified(request, request.former, response);
    }
    const isPage = status >= 200 && status < 300 && response.skipped === null;
    const header = this.#headerDirectives(response);
    const found = isPage ? await this.#links(request, response, header) : nothing(null);
    const target = response.location === null ? null : this.#redirect(response.location, request);
    let { outOfScope } = found;
    const links = found.links;
    if (target) {
      if (this.#accepts(target)) links.push(target);
      else outOfScope++;
    }
    return {
      kind: 'response',
      request,
      status,
      contentType: contentType?.slice(0, CONTENT_TYPE_CHARS_MAX) ?? null,
      bytes,
      truncated,
      retryAfterMs,
      ip,
      durationMs,
      endedAt,
      digest: found.digest,
      simhash: found.simhash,
      redirectTo: (target?.url ?? response.location)?.slice(0, URL_CHARS_MAX) ?? null,
      ...(found.canonical !== null && { canonical: found.canonical }),
      ...askedOf(togetherDirectives(header, found.directives)),
      ...validatorsOf(response),
      ...(found.digest !== null && found.digest === request.former?.digest && UNCHANGED),
      note: found.note ?? response.skipped ?? (truncated ? 'truncated' : null),
      links,
      outOfScope,
    };
  }

  async #links(
    request: PageRequest,
    response: FetchResponse,
    header: RobotsDirectives,
  ): Promise<Found> {
    const { body, contentType } = response;
    const url = request.fetchUrl;
    const sitemap = await this.#sitemap(request, response);
    let page: ParsedPage;
    try {
      const { productToken, embeds } = this.#p;
      // The body is empty here afterwards.
      const input = { body, contentType, url, productToken, embeds };
      page = await this.#p.parse(input, this.#open.size);
    } catch (error) {
      return nothing(codeOf(error));
    }
    const links = new Map<string, FoundLink>();
    let outOfScope = sitemap || header.nofollow ? 0 : page.tooLong;
    for (const { identity, fetchUrl, host } of header.nofollow
      ? []
      : (sitemap?.urls ?? page.links)) {
      const link = this.#identified({ identity, fetchUrl: fetchUrl ?? identity, host });
      // Rules of the config may make one page of several links.
      if (links.has(link.url)) continue;
      if (this.#accepts(link)) links.set(link.url, link);
      else outOfScope++;
    }
    const dropped = sitemap ? sitemap.isPartial : page.linksDropped > 0;
    const note = dropped ? 'links_dropped' : null;
    const { digest, simhash } = page;
    const canonical = page.canonical?.length ?? 0;
    return {
      ...{ links: [...links.values()], outOfScope, digest, simhash, note },
      canonical: canonical > URL_CHARS_MAX ? null : page.canonical,
      directives: page,
    };
  }

  /** What the response lists if it is a sitemap or a feed, else null. */
  async #sitemap(
    request: PageRequest,
    { body, contentType }: FetchResponse,
  ): Promise<Pick<Sitemap, 'urls' | 'isPartial'> | null> {
    const declared = this.#isDeclared(request);
    if (!declared && !XML.test(contentType ?? '')) return null;
    const sitemap = await readSitemap(body, { url: request.fetchUrl, declared });
    if (sitemap?.kind !== 'index') return sitemap;
    const max = request.depth > INDEX_DEPTH_MAX ? 0 : INDEX_FILES_MAX;
    const { urls, isPartial } = sitemap;
    return { urls: urls.slice(0, max), isPartial: isPartial || urls.length > max };
  }

  #isDeclared({ url, fetchUrl, referrer = '' }: PageRequest): boolean {
    if (this.#p.isSitemap(url) || PACKED_SITEMAP.test(fetchUrl)) return true;
    // What a robots.txt leads to is a sitemap, or another host's robots.txt.
    return referrer.endsWith('/robots.txt') && !url.endsWith('/robots.txt');
  }

  #robots(request: PageRequest, result: FetchResult): Outcome {
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
    return { kind: 'robots', request, ip, durationMs, endedAt, answer };
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
      const link = this.#identified(parsed);
      if (this.#accepts(link)) links.set(link.url, link);
    }
    return [...links.values()];
  }

  #headerDirectives({ headers }: FetchResponse): RobotsDirectives {
    const tag = headers['x-robots-tag'];
    if (tag === undefined) return NO_DIRECTIVES;
    return headerDirectives(String(tag), this.#p.productToken);
  }

  #identified(url: CrawlUrl): FoundLink {
    const { identity, fetchUrl, host } = this.#p.identify(url);
    return fetchUrl === identity ? { url: identity, host } : { url: identity, host, fetchUrl };
  }

  /**
   * A site may answer the first visit by a redirect to the same page with a session. Without the
   * session its identity is that of the page at hand, and nobody would ever fetch it: so such a
   * target keeps all of its own.
   */
  #redirect(location: string, request: PageRequest): FoundLink | null {
    const target = parseCrawlUrl(location, request.fetchUrl);
    if ('refused' in target) return null;
    const link = this.#identified(target);
    if (link.url !== request.url) return { ...link, redirect: true };
    const { identity: url, fetchUrl, host } = target;
    return { url, host, redirect: true, ...(fetchUrl === url ? {} : { fetchUrl }) };
  }

  /** In scope, and short enough to be stored and sent to other agents. */
  #accepts({ url, fetchUrl, host }: FoundLink): boolean {
    const longest = Math.max(url.length, fetchUrl?.length ?? 0);
    if (longest > URL_CHARS_MAX || host.length > HOST_CHARS_MAX) return false;
    return this.#p.inScope(host, url);
  }
}

/** How far down and from where, how long and at which attempt: for readers of the archive. */
function captureOf(request: PageRequest, response: FetchResponse, raw: RawExchange): Capture {
  const { ip, status, contentType, durationMs, endedAt } = response;
  const { url, requestHead, responseHead, truncated } = raw;
  const metadata: [string, string][] = [];
  if (request.kind === 'page') {
    if (request.referrer !== undefined) metadata.push(['via', request.referrer]);
    metadata.push(['depth', String(request.depth)], ['attempt', String(request.attempts + 1)]);
  }
  metadata.push(['fetchTimeMs', String(Math.round(durationMs))]);
  const heads = { requestHead, responseHead };
  const startedAt = endedAt - durationMs;
  const former = archivedOf(request);
  return {
    ...{ url, ip, startedAt, ...heads, status, contentType, truncated, metadata },
    ...(former && { former }),
  };
}

/** A page without its record may not count as done: as if this agent had given it up. */
function unarchived(request: PageRequest, response: FetchResponse): Outcome {
  const { ip, durationMs, endedAt } = response;
  const message = 'the archive takes nothing more';
  const ended = { request, ip, durationMs, endedAt };
  return { kind: 'failure', ...ended, code: 'aborted', message, cause: 'withdrawn' };
}

type RobotsRedirect = Extract<RobotsAccess, { kind: 'redirect' }>;

/** Where the file leads nowhere that anybody asks: as if there were none. */
function withoutRules(location: string, why: string): RobotsOutcome['answer'] {
  return { kind: 'allowAll', reason: `${REDIRECTED}${location}, ${why}` };
}

interface Found {
  readonly links: FoundLink[];
  readonly outOfScope: number;
  readonly digest: string | null;
  readonly simhash: string | null;
  readonly note: string | null;
  readonly canonical: string | null;
  /** Of its elements. */
  readonly directives: RobotsDirectives;
}

function nothing(note: string | null): Found {
  const none = { digest: null, simhash: null, canonical: null, directives: NO_DIRECTIVES };
  return { links: [], outOfScope: 0, note, ...none };
}

/** As it is recorded: what is not asked for is not said. */
function askedOf({ noindex, noarchive }: RobotsDirectives) {
  return { ...(noindex && { noindex }), ...(noarchive && { noarchive }) };
}

const CAUSES: Readonly<Record<FetchFailureCode, FailureOutcome['cause']>> = {
  dns: 'connection',
  connect_refused: 'connection',
  connect_timeout: 'connection',
  connect_failed: 'connection',
  tls: 'connection',
  response_timeout: 'exchange',
  total_timeout: 'exchange',
  reset: 'exchange',
  http_syntax: 'exchange',
  headers_too_large: 'exchange',
  body_encoding: 'exchange',
  truncated_body: 'exchange',
  unexpected: 'exchange',
  blocked_address: 'forbidden-address',
  no_right: 'withdrawn',
  aborted: 'withdrawn',
};

const UNREACHABLE: ReadonlySet<FetchFailureCode> = new Set([
  'connect_refused',
  'connect_timeout',
  'connect_failed',
]);

const GIVEN_UP: ReadonlySet<FailureOutcome['cause']> = new Set(['withdrawn', 'forbidden-address']);

function failureOutcome(
  request: PageRequest,
  result: Extract<FetchResult, { kind: 'failure' }>,
): Outcome {
  const { code, message, ip, durationMs, endedAt } = result;
  return { kind: 'failure', request, code, message, cause: CAUSES[code], ip, durationMs, endedAt };
}

function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : 'parse_crash';
}
