// Extracts the links of a page, sitemap or feed, parsed off the main thread. Links get the identity
// that the config's rules give them, and are kept if they are in scope and short enough.

import type { PageRequest } from '../core/protocol/effects.ts';
import type { FoundLink } from '../core/protocol/outcome.ts';
import { readRefresh } from '../fetch/connection/response-headers.ts';
import type { FetchResponse } from '../fetch/fetch.ts';
import type { PageLink } from '../parse/page/links.ts';
import { refreshTarget } from '../parse/page/meta-refresh.ts';
import { unpackUrls } from '../parse/page/packed-urls.ts';
import type { PageInput, ParsedPage } from '../parse/page/page.ts';
import { NO_DIRECTIVES, type RobotsDirectives } from '../parse/page/robots-directives.ts';
import { otherWork } from '../runtime/other-work.ts';
import {
  asForm,
  type CrawlUrl,
  parseCrawlUrl,
  type SpelledUrl,
  spelled,
  URL_CHARS_MAX,
} from '../url/crawl-url.ts';
import type { ScopedUrl } from '../url/request-scope.ts';

/** Links with longer host names count as out of scope: a DNS name has at most 253 characters. */
export const HOST_CHARS_MAX = 255;

/** Content types whose root element shows whether the document is a sitemap or a feed. */
export const XML = /^(?:text|application)\/(?:(?!xhtml)[\w.-]+\+)?xml\b/i;
/** File names that declare a compressed sitemap. */
export const PACKED_SITEMAP = /^[^?#]+\.(?:xml|txt)\.gz$/i;
/** Maximum depth of a sitemap index that is followed. A deeper one is only fetched. */
const INDEX_DEPTH_MAX = 1;
/** Maximum of files followed of one index: a site of fifty million pages is not queued at once. */
const INDEX_FILES_MAX = 1000;

/** Characters of links processed before other work may run: some milliseconds at worst. */
const CHARS_AT_ONCE = 64 * 1024;

export interface PageLinksParts {
  /** @param others - number of other open exchanges */
  readonly parse: (input: PageInput, others: number) => Promise<ParsedPage>;
  readonly inScope: (host: string, url: ScopedUrl) => boolean;
  /** Whether the limits on URLs allow a request for this form. */
  readonly admits: (url: SpelledUrl) => boolean;
  /** Applies the config's rules for identities. */
  readonly identify: (url: CrawlUrl) => CrawlUrl;
  /** The name by which pages address this crawler. */
  readonly productToken: string;
  /** Whether embedded resources are links, too. */
  readonly embeds: boolean;
}

/** `sitemap`: the source of the link declares it a sitemap. */
type NamedUrl = PageLink & { readonly sitemap?: boolean };

interface PageContext {
  /** Directives of the X-Robots-Tag header. */
  readonly header: RobotsDirectives;
  /** Whether the page was declared a sitemap. */
  readonly declared: boolean;
  /** Number of other open exchanges. */
  readonly others: number;
}

export class PageLinks {
  readonly #p: PageLinksParts;

  constructor(parts: PageLinksParts) {
    this.#p = parts;
  }

  /** Extracts the links of a page, sitemap or feed. Never rejects. */
  async linksOf(
    request: PageRequest,
    response: FetchResponse,
    { header, declared, others }: PageContext,
  ): Promise<Found> {
    const { body, contentType } = response;
    const url = request.fetchUrl;
    let page: ParsedPage;
    try {
      const { productToken, embeds } = this.#p;
      // The call transfers the body to the parser thread; it is empty here afterwards.
      const input = { body, contentType, url, productToken, embeds };
      const isSitemap = declared || XML.test(contentType ?? '');
      page = await this.#p.parse(isSitemap ? { ...input, sitemap: { declared } } : input, others);
    } catch (error) {
      return nothing(codeOf(error));
    }
    const named = listedOf(page, request);
    const refresh = page.nofollow ? [] : refreshOf(response, url, declared);
    const urls = header.nofollow ? [] : oneAfterAnother(refresh, named.urls);
    const { links, rejected } = await this.#accepted(urls);
    const outOfScope = rejected + (header.nofollow ? 0 : page.tooLong);
    const note = named.isPartial ? 'links_dropped' : null;
    const { digest, simhash } = page;
    const canonical = page.canonical?.length ?? 0;
    return {
      ...{ links: [...links.values()], outOfScope, digest, simhash, note },
      canonical: canonical > URL_CHARS_MAX ? null : page.canonical,
      directives: page,
    };
  }

  /** Accepts each identity in scope once, and counts the others. Yields between batches. */
  async #accepted(
    named: Iterable<NamedUrl>,
  ): Promise<{ links: Map<string, FoundLink>; rejected: number }> {
    const links = new Map<string, FoundLink>();
    let rejected = 0;
    let chars = 0;
    for (const { identity, fetchUrl, host, sitemap } of named) {
      chars += identity.length;
      if (chars > CHARS_AT_ONCE) {
        await otherWork();
        chars = 0;
      }
      const found = this.identified({ identity, fetchUrl: fetchUrl ?? asForm(identity), host });
      const link = sitemap ? { ...found, sitemap } : found;
      // The config's rules may give several links the same identity.
      if (links.has(link.url)) continue;
      if (this.accepts(link)) links.set(link.url, link);
      else rejected++;
    }
    return { links, rejected };
  }

  /** Returns the URL with the identity that the config's rules give it. */
  identified(url: CrawlUrl): FoundLink {
    return { ...spelled(this.#p.identify(url)), host: url.host };
  }

  /** The target of a redirect, declared a sitemap if its source was; null: not a URL to crawl. */
  redirect(location: string, { fetchUrl }: PageRequest, declared: boolean): FoundLink | null {
    const target = parseCrawlUrl(location, fetchUrl);
    if ('refused' in target) return null;
    return { ...this.identified(target), redirect: true, ...(declared && { sitemap: true }) };
  }

  /** Whether the page may be requested in the form that it redirects to. */
  acceptsForm(target: ScopedUrl & Pick<FoundLink, 'host'>): boolean {
    return this.accepts(target) && this.#p.admits(target);
  }

  /** Whether the link is in scope, and short enough to be stored and sent to other agents. */
  accepts(link: FoundLink): boolean {
    const { url, fetchUrl, host } = link;
    const longest = Math.max(url.length, fetchUrl?.length ?? 0);
    if (longest > URL_CHARS_MAX || host.length > HOST_CHARS_MAX) return false;
    return this.#p.inScope(host, link);
  }
}

/** What was extracted from a page. */
export interface Found {
  readonly links: FoundLink[];
  readonly outOfScope: number;
  readonly digest: string | null;
  readonly simhash: string | null;
  readonly note: string | null;
  readonly canonical: string | null;
  /** Directives of the page's meta elements. */
  readonly directives: RobotsDirectives;
}

/** The result for a page that was not parsed. */
export function nothing(note: string | null): Found {
  const none = { digest: null, simhash: null, canonical: null, directives: NO_DIRECTIVES };
  return { links: [], outOfScope: 0, note, ...none };
}

function* oneAfterAnother(...lists: Iterable<NamedUrl>[]): Generator<NamedUrl> {
  for (const list of lists) yield* list;
}

/** The links of a page, or the entries of a sitemap or feed. */
function listedOf(
  { links, linksDropped, listed }: ParsedPage,
  { depth }: PageRequest,
): { readonly urls: Iterable<NamedUrl>; readonly isPartial: boolean } {
  if (listed === undefined) return { urls: links, isPartial: linksDropped > 0 };
  const { kind, urls, count, isPartial } = listed;
  const max = depth > INDEX_DEPTH_MAX ? 0 : INDEX_FILES_MAX;
  if (kind !== 'index') return { urls: unpackUrls(urls), isPartial };
  const files = unpackUrls(urls)
    .take(max)
    .map((link) => ({ ...link, sitemap: true }));
  return { urls: files, isPartial: isPartial || count > max };
}

/** The target of a Refresh header if it can be crawled. It inherits `declared`. */
function refreshOf({ headers }: FetchResponse, url: string, declared: boolean): NamedUrl[] {
  const header = readRefresh(headers.refresh);
  const target = header === null ? null : refreshTarget(header);
  if (target === null || target.length > URL_CHARS_MAX) return [];
  const parsed = parseCrawlUrl(target, url);
  return 'refused' in parsed ? [] : [declared ? { ...parsed, sitemap: true } : parsed];
}

function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : 'parse_crash';
}
