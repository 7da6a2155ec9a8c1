// What the tests in `parse-pool.test.ts` and in `slow/parse-pool.test.ts` are run on.

import type { PageInput } from '../../../agent/parse/page/page.ts';
import { ParsePool, type ParsePoolOptions } from '../../../agent/parse/parse-pool.ts';

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
