// Queries of `ubiring export`. They run over the merged views of all files, so they do not sort,
// join or group: rows stream.

export const EXPORT_PAGES = 'SELECT * FROM pages';

export const EXPORT_URLS = 'SELECT url FROM pages';

/** Columns: source, target. Of the pages whose links are stored. */
export const EXPORT_LINKS = 'SELECT source, target FROM links';

/** Each URL once, with the page on which it was first found. For pages without stored links. */
export const EXPORT_REFERRERS: readonly string[] = [
  'pages WHERE NOT queued_again AND skipped IS NULL AND',
  'frontier WHERE',
  'skipped WHERE',
].map((source) => `SELECT referrer, url FROM ${source} referrer IS NOT NULL`);

/** One row if the file has any links. Runs on one file. */
export const HAS_LINKS = 'SELECT 1 FROM page_links LIMIT 1';

/** One row if the file has the links of this page, or that it has none. Runs on one file. */
export const HAS_LINKS_OF = 'SELECT 1 FROM page_links WHERE source = ?';
