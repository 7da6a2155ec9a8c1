// What `ubiring export` reads of the views. Run by `agent/cli/query/export-command.ts` over the merged
// views of all files, so nothing here sorts, joins or groups: rows stream.

export const EXPORT_PAGES = 'SELECT * FROM pages';

export const EXPORT_URLS = 'SELECT url FROM pages';

/** Columns: source, target. Where the crawl kept its links. */
export const EXPORT_LINKS = 'SELECT source, target FROM links';

/** The same where it did not: of each URL the page that it was first found on, once. */
export const EXPORT_REFERRERS: readonly string[] = [
  'pages WHERE NOT queued_again AND skipped IS NULL AND',
  'frontier WHERE',
  'skipped WHERE',
].map((source) => `SELECT referrer, url FROM ${source} referrer IS NOT NULL`);

/** A row where the file has any links; on the table of one file. */
export const HAS_LINKS = 'SELECT 1 FROM page_links LIMIT 1';
