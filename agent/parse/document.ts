// A body as it is parsed on the threads of the pool: as a sitemap or a feed where it may be one, else
// as a page. Of a sitemap of fifty megabytes nothing but its URLs comes back, in one buffer.

import { packUrls } from './page/packed-urls.ts';
import { type PageInput, type ParsedPage, parsePage, unreadPage } from './page/page.ts';
import { readSitemap } from './sitemap/sitemap.ts';

/** Parses what may be a sitemap; never rejects. */
export async function parseDocument(input: PageInput): Promise<ParsedPage> {
  const { body, url, sitemap: expected } = input;
  const sitemap = expected && (await readSitemap(body, { url, ...expected }));
  if (!sitemap) return parsePage(input);
  const { kind, urls, isPartial } = sitemap;
  const listed = { kind, urls: packUrls(urls), count: urls.length, isPartial };
  return { ...unreadPage(input), listed };
}
