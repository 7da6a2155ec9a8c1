// Turns a request of the visits into its outcome: fetches it, then parses a page or interprets a
// robots.txt. Connects the folders fetch, parse and robots, which do not import each other.

import type { ArchivedPayload, Capture } from '../archive/record/capture.ts';
import type { PageRequest } from '../core/protocol/effects.ts';
import type { PageRow } from '../core/protocol/messages.ts';
import type { ArchivedAt, Outcome } from '../core/protocol/outcome.ts';
import type { BodyBudget } from '../fetch/body/body-budget.ts';
import type { Fetcher, FetchRequest, FetchResponse } from '../fetch/fetch.ts';
import {
  headerDirectives,
  NO_DIRECTIVES,
  type RobotsDirectives,
  togetherDirectives,
} from '../parse/page/robots-directives.ts';
import { SITEMAP_BYTES_MAX } from '../parse/sitemap/sitemap-body.ts';
import { ROBOTS_BYTES_MAX } from '../robots/robots-txt.ts';
import { formOf, URL_CHARS_MAX } from '../url/crawl-url.ts';
import { captureOf, unarchived } from './exchange-capture.ts';
import { failureOutcome, UNREACHABLE } from './fetch-failure.ts';
import { nothing, PACKED_SITEMAP, PageLinks, type PageLinksParts } from './page-links.ts';
import { PageSpan } from './page-span.ts';
import { conditionsOf, notModified, UNCHANGED, validatorsOf } from './revalidation.ts';
import { RobotsAnswers, type RobotsAnswersParts } from './robots-answers.ts';

/** Recorded length of a Content-Type header, in characters. */
const CONTENT_TYPE_CHARS_MAX = 200;

export interface PipelineParts extends PageLinksParts, RobotsAnswersParts {
  readonly fetcher: Fetcher;
  readonly bodyBytesMax: number;
  /** The memory for open bodies, shared by all requests of the agent. */
  readonly bodies: BodyBudget;
  readonly mayWrite: (request: PageRequest) => boolean;
  /** Called when a connection could not be opened. */
  readonly onUnreachable?: (request: PageRequest) => void;
  /** Absent: no archive. */
  readonly archive?: PageArchive;
}

interface PageArchive {
  /**
   * Archives an exchange.
   *
   * @param others - number of other open exchanges
   * @returns the place of the record once it is on disk; null: it could not be archived
   */
  append(capture: Capture, body: Uint8Array[], others: number): Promise<ArchivedAt | null>;
  /** The payload of a page of an earlier round, if this archive still has it. Never rejects. */
  originalOf(previous: PageRow): Promise<ArchivedPayload | null>;
}

export class PagePipeline {
  readonly #p: PipelineParts;
  readonly #links: PageLinks;
  readonly #robots: RobotsAnswers;
  readonly #open = new Map<number, { request: PageRequest; abort: AbortController }>();

  constructor(parts: PipelineParts) {
    this.#p = parts;
    this.#links = new PageLinks(parts);
    this.#robots = new RobotsAnswers(parts, this.#links);
  }

  /** Makes the request. Every failure becomes an outcome; never rejects. */
  async run(request: PageRequest): Promise<Outcome> {
    const account = this.#p.bodies.open();
    const span = new PageSpan(request);
    try {
      const outcome = await this.#outcomeOf(request, account, span);
      span.end(outcome);
      return outcome;
    } finally {
      account.close();
    }
  }

  async #outcomeOf(
    request: PageRequest,
    account: NonNullable<FetchRequest['account']>,
    span: PageSpan,
  ): Promise<Outcome> {
    const abort = new AbortController();
    this.#open.set(request.id, { request, abort });
    const isRobots = request.kind === 'robots';
    const declared = !isRobots && isDeclared(request);
    const pageMax = declared ? SITEMAP_BYTES_MAX : this.#p.bodyBytesMax;
    const original = await this.#originalOf(request);
    const headers = conditionsOf(request, original !== null || this.#p.archive === undefined);
    const result = await this.#p.fetcher.fetch({
      headers,
      url: request.fetchUrl,
      // Content types without links are not read to the end, but a sitemap may have any type.
      kind: declared ? 'robots' : request.kind,
      bodyBytesMax: isRobots ? ROBOTS_BYTES_MAX : pageMax,
      signal: abort.signal,
      account,
      mayWrite: () => this.#p.mayWrite(request),
      ...(request.address === undefined ? {} : { address: request.address }),
    });
    this.#open.delete(request.id);
    span.stage('fetched');
    if (result.kind === 'failure' && UNREACHABLE.has(result.code)) this.#p.onUnreachable?.(request);
    if (result.kind === 'failure') {
      return isRobots ? this.#robots.outcomeOf(request, result) : failureOutcome(request, result);
    }
    const archiving = this.#archive(request, result, original);
    const isConditional = Object.keys(headers).length > 0;
    const outcome = isRobots
      ? this.#robots.outcomeOf(request, result)
      : await this.#page(request, result, isConditional);
    span.stage('parsed');
    const archived = await archiving;
    if (archived === undefined) return outcome;
    span.stage('archived');
    return archived === null ? unarchived(request, result) : { ...outcome, archived };
  }

  /** @returns undefined: nothing to archive; null: archiving failed */
  async #archive(
    request: PageRequest,
    response: FetchResponse,
    original: ArchivedPayload | null,
  ): Promise<ArchivedAt | null | undefined> {
    const { raw } = response;
    if (raw === null) return undefined;
    const capture = captureOf(request, response, raw, original);
    return this.#p.archive?.append(capture, raw.body, this.#open.size);
  }

  /** The page's payload of an earlier round in the archive; null: none, or no archive. */
  async #originalOf({ kind, previous }: PageRequest): Promise<ArchivedPayload | null> {
    if (kind !== 'page' || previous?.payload === undefined) return null;
    return (await this.#p.archive?.originalOf(previous)) ?? null;
  }

  abort(id: number): void {
    this.#open.get(id)?.abort.abort();
  }

  abortAll(): void {
    for (const { abort } of this.#open.values()) abort.abort();
  }

  /** The open request to the host; null: none. There is at most one. */
  openAt(host: string): { readonly kind: PageRequest['kind']; readonly url: string } | null {
    for (const { request } of this.#open.values()) {
      if (request.host === host) return { kind: request.kind, url: request.fetchUrl };
    }
    return null;
  }

  async #page(
    request: PageRequest,
    response: FetchResponse,
    isConditional: boolean,
  ): Promise<Outcome> {
    const { status, contentType, bytes, truncated, retryAfterMs, ip, durationMs, endedAt } =
      response;
    const header = this.#headerDirectives(response);
    if (status === 304 && request.previous && isConditional) {
      return notModified(request, request.previous, response, header);
    }
    const isPage = status >= 200 && status < 300 && response.skipped === null;
    const declared = isDeclared(request);
    const found = isPage
      ? await this.#links.linksOf(request, response, { header, declared, others: this.#open.size })
      : nothing(null);
    const { noindex, noarchive } = togetherDirectives(header, found.directives);
    const { location } = response;
    const target = location === null ? null : this.#links.redirect(location, request, declared);
    // The same page in another form, or in the same form behind a cookie.
    const isSelf = target?.url === request.url;
    const moved = isSelf && this.#links.acceptsForm(target) ? formOf(target) : null;
    let { outOfScope } = found;
    const { links } = found;
    if (target && moved === null) {
      if (!isSelf && this.#links.accepts(target)) links.push(target);
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
      redirectTo: (target?.url ?? location)?.slice(0, URL_CHARS_MAX) ?? null,
      ...(moved !== null && { moved }),
      ...(response.bringsCookies && { bringsCookies: true as const }),
      ...(found.canonical !== null && { canonical: found.canonical }),
      ...(noindex && { noindex }),
      ...(noarchive && { noarchive }),
      ...validatorsOf(response),
      ...(found.digest !== null && found.digest === request.previous?.digest && UNCHANGED),
      note: found.note ?? response.skipped ?? (truncated ? 'truncated' : null),
      links,
      outOfScope,
    };
  }

  #headerDirectives({ headers }: FetchResponse): RobotsDirectives {
    const fields = [headers['x-robots-tag'] ?? []].flat();
    return fields
      .map((field) => headerDirectives(field, this.#p.productToken))
      .reduce(togetherDirectives, NO_DIRECTIVES);
  }
}

/** Whether the request is declared a sitemap, by the source of its link or by its file name. */
function isDeclared({ fetchUrl, sitemap = false }: PageRequest): boolean {
  return sitemap || PACKED_SITEMAP.test(fetchUrl);
}
