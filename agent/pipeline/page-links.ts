// The links of a response: parsed off the main thread, given the identity that the config's rules
// leave them, and kept where they are in scope and short enough. A sitemap or a feed has its links
// in the same place. Used by the page pipeline.

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

/** Links to longer names count as out of scope: no name in the DNS has more than 253 characters. */
export const HOST_CHARS_MAX = 255;

/** Types of which the root element says whether they are a sitemap or a feed. */
const XML = /^(?:text|application)\/(?:(?!xhtml)[\w.-]+\+)?xml\b/i;
/** An index that an index of an index names is read, but leads nowhere. */
const INDEX_DEPTH_MAX = 1;
/** Of the files of one index; a site of fifty million pages is not crawled in one go. */
const INDEX_FILES_MAX = 1000;

/** Links are identified and judged so many characters at a time: some milliseconds at worst. */
const CHARS_AT_ONCE = 64 * 1024;

export interface PageLinksParts {
  /** `others`: how many further exchanges are under way. */
  readonly parse: (input: PageInput, others: number) => Promise<ParsedPage>;
  readonly inScope: (host: string, url: SpelledUrl) => boolean;
  /** Whether the limits on URLs let the form be requested. */
  readonly admits: (url: SpelledUrl) => boolean;
  /** Gives a URL the identity that the config's rules leave it. */
  readonly identify: (url: CrawlUrl) => CrawlUrl;
  /** This crawler's name, as pages address it. */
  readonly productToken: string;
  /** Whether what a page shows is fetched as well. */
  readonly embeds: boolean;
}

/** `sitemap`: what names it says that it is one. */
type NamedUrl = PageLink & { readonly sitemap?: boolean };

interface PageContext {
  /** What the header says to robots. */
  readonly header: RobotsDirectives;
  /** Whether the page was named as a sitemap. */
  readonly declared: boolean;
  /** How many further exchanges are under way. */
  readonly others: number;
}

export class PageLinks {
  readonly #p: PageLinksParts;

  constructor(parts: PageLinksParts) {
    this.#p = parts;
  }

  /** The links of a page, or of a sitemap or a feed. Never rejects. */
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
      // The body is empty here afterwards.
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

  /** Those that are in scope, each identity once, and how many are not; in pieces. */
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
      const link = this.identified({ identity, fetchUrl: fetchUrl ?? asForm(identity), host });
      // Rules of the config may make one page of several links.
      if (links.has(link.url)) continue;
      if (this.accepts(link)) links.set(link.url, sitemap ? { ...link, sitemap } : link);
      else rejected++;
    }
    return { links, rejected };
  }

  /** With the identity that the config's rules leave it. */
  identified(url: CrawlUrl): FoundLink {
    return { ...spelled(this.#p.identify(url)), host: url.host };
  }

  /** Where a redirect leads, from a declared sitemap to another; null: to no URL to crawl. */
  redirect(location: string, { fetchUrl }: PageRequest, declared: boolean): FoundLink | null {
    const target = parseCrawlUrl(location, fetchUrl);
    if ('refused' in target) return null;
    return { ...this.identified(target), redirect: true, ...(declared && { sitemap: true }) };
  }

  /** Whether the target of a redirect may be requested in place of the page itself. */
  acceptsForm(target: SpelledUrl & Pick<FoundLink, 'host'>): boolean {
    return this.accepts(target) && this.#p.admits(target);
  }

  /** In scope, and short enough to be stored and sent to other agents. */
  accepts(link: FoundLink): boolean {
    const { url, fetchUrl, host } = link;
    const longest = Math.max(url.length, fetchUrl?.length ?? 0);
    if (longest > URL_CHARS_MAX || host.length > HOST_CHARS_MAX) return false;
    return this.#p.inScope(host, link);
  }
}

/** What a page says of others and of itself. */
export interface Found {
  readonly links: FoundLink[];
  readonly outOfScope: number;
  readonly digest: string | null;
  readonly simhash: string | null;
  readonly note: string | null;
  readonly canonical: string | null;
  /** Of its elements. */
  readonly directives: RobotsDirectives;
}

/** Of a page that was not parsed. */
export function nothing(note: string | null): Found {
  const none = { digest: null, simhash: null, canonical: null, directives: NO_DIRECTIVES };
  return { links: [], outOfScope: 0, note, ...none };
}

function* oneAfterAnother(...lists: Iterable<NamedUrl>[]): Generator<NamedUrl> {
  for (const list of lists) yield* list;
}

/** The links of the page, or what it lists if it is a sitemap or a feed. */
function listedOf(
  { links, linksDropped, listed }: ParsedPage,
  { depth }: PageRequest,
): { readonly urls: Iterable<NamedUrl>; readonly isPartial: boolean } {
  if (listed === undefined) return { urls: links, isPartial: linksDropped > 0 };
  const { kind, urls, count, isPartial } = listed;
  const max = depth > INDEX_DEPTH_MAX ? 0 : INDEX_FILES_MAX;
  if (kind !== 'index') return { urls: unpackUrls(urls), isPartial };
  return { urls: filesOf(unpackUrls(urls).take(max)), isPartial: isPartial || count > max };
}

/** What an index names is a sitemap. */
function* filesOf(named: Iterable<PageLink>): Generator<NamedUrl> {
  for (const link of named) yield { ...link, sitemap: true };
}

/** The target of a Refresh header, if there is one that can be crawled: like that of a redirect. */
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
