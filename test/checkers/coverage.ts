// Every page of a complete crawl was fetched (PROTOCOL invariant I9), and without faults none was
// fetched twice.

import type { SeenRequest } from './evidence.ts';

/** Number of complete answers by page, without robots.txt. */
export function fetchedPages(requests: readonly SeenRequest[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { url, whole } of requests) {
    if (whole && !url.endsWith('/robots.txt')) counts.set(url, (counts.get(url) ?? 0) + 1);
  }
  return counts;
}

export function missing(requests: readonly SeenRequest[], expected: Iterable<string>): string[] {
  const fetched = fetchedPages(requests);
  return [...expected].filter((url) => !fetched.has(url)).map((url) => `missing: ${url}`);
}

export function twice(requests: readonly SeenRequest[]): string[] {
  return [...fetchedPages(requests)]
    .filter(([, times]) => times > 1)
    .map(([url, times]) => `fetched ${times} times: ${url}`);
}

/** COMPLETE is sent only when no page is left: none was first requested after it. */
export function late(requests: readonly SeenRequest[], completeAt: number): string[] {
  const known = new Set<string>();
  for (const { url, start } of requests) if (start <= completeAt) known.add(url);
  const after = requests.filter(({ url, start }) => start > completeAt && !known.has(url));
  return after.map(({ url }) => `first requested after COMPLETE: ${url}`);
}
