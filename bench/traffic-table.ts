// A table of the messages per page, by type: the types that links and copies cause, then all
// together.

import { type CrawlFigures, sentBy } from './crawl-figures.ts';
import type { Table } from './report.ts';

/** Messages and bytes per page, the mean over all crawls, by type. */
export function sentPerPage(crawls: readonly CrawlFigures[]): Map<string, [number, number]> {
  const pages = crawls.reduce((s, crawl) => s + crawl.pages, 0);
  const sums = sentBy(crawls.flatMap(({ agents }) => agents));
  return new Map(
    Array.from(sums, ([type, { messages, bytes }]) => [type, [messages / pages, bytes / pages]]),
  );
}

const types = ['ROWS', 'ROWS_ACK', 'URLS', 'URLS_ACK', 'KNOWN', 'HEARTBEAT'];

/** A row for each kind of crawl. */
export function trafficTable(
  kinds: readonly { readonly title: string; readonly crawls: readonly CrawlFigures[] }[],
): Table {
  const rows = kinds.map(({ title, crawls }) => {
    const sent = sentPerPage(crawls);
    const all = [...sent.values()].reduce(([m, b], [x, y]) => [m + x, b + y], [0, 0]);
    const cells = [...types.map((type) => sent.get(type) ?? [0, 0]), all];
    return [
      title,
      ...cells.map(([messages = 0, bytes = 0]) => `${messages.toFixed(2)}, ${bytes.toFixed(0)} B`),
    ];
  });
  return { title: 'Messages and bytes sent per page:', columns: ['', ...types, 'all'], rows };
}
