// The set-up shared by `parse-pool.test.ts` and `slow/parse-pool.test.ts`.

import type { PageInput, ParsedPage } from '../../../agent/parse/page/page.ts';
import { ParsePool, type ParsePoolOptions } from '../../../agent/parse/parse-pool.ts';

export const SCRIPT = new URL('./unruly-worker.ts', import.meta.url);

export function page(url: string, body = '<a href=next>'): PageInput {
  return { body: new TextEncoder().encode(body), contentType: 'text/html', url };
}

export async function withPool(
  options: Partial<ParsePoolOptions>,
  use: (pool: ParsePool) => Promise<void>,
): Promise<void> {
  const pool = new ParsePool({ workers: 2, timeoutMs: 60_000, ...options });
  try {
    await use(pool);
  } finally {
    await pool.close();
  }
}

export const identities = (urls: { identity: string }[] | readonly { identity: string }[]) =>
  urls.map(({ identity }) => identity);

/** More exchanges than there are threads. */
export const MANY = 64;

/** How many pages the unruly worker had at once, which it reports in `linksDropped`. */
export const together = (pages: readonly ParsedPage[]) =>
  pages.map(({ linksDropped }) => linksDropped);

export const names = Array.from({ length: 150 }, (_, n) => n);
