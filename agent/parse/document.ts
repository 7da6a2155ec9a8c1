// Parses a body as a sitemap or a feed if it may be one, otherwise as a page. A sitemap may have
// fifty megabytes, so only its URLs are returned, packed into one buffer.

import { packUrls } from './page/packed-urls.ts';
import { type PageInput, type ParsedPage, parsePage, unreadPage } from './page/page.ts';
import { readSitemap } from './sitemap/sitemap.ts';

/** Never rejects. */
export async function parseDocument(input: PageInput): Promise<ParsedPage> {
  const { body, url, sitemap: expected } = input;
  const sitemap = expected && (await readSitemap(body, { url, ...expected }));
  if (!sitemap) return parsePage(input);
  const { kind, urls, isPartial } = sitemap;
  const listed = { kind, urls: packUrls(urls), count: urls.length, isPartial };
  return { ...unreadPage(input), listed };
}
