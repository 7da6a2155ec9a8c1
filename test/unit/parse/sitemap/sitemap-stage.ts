// The set-up shared by `sitemap.test.ts` and `slow/sitemap.test.ts`.

import { readSitemap, type SitemapOptions } from '../../../../agent/parse/sitemap/sitemap.ts';

export const URL_OF_FILE = 'http://a.test/dir/sitemap.xml';

export async function read(body: string | Uint8Array, options: Partial<SitemapOptions> = {}) {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return readSitemap(bytes, { url: URL_OF_FILE, declared: false, ...options });
}

export const entry = (loc: string) => `<url><loc>${loc}</loc><lastmod>2020-01-01</lastmod></url>`;
export const urlset = (...locs: string[]) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n` +
  `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${locs.map(entry).join('\n')}</urlset>`;
