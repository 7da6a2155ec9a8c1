// The commands suggested to a user when a crawl has results.

import type { Config } from '../../../config/config.ts';
import { shownCrawl } from '../common/load-config.ts';
import { programName } from '../common/output.ts';
import { largestHostsQuery, statusesQuery } from './query-examples.ts';

export function nextSteps(config: Config): string {
  const ask = `  ${programName()} query ${shownCrawl(config)}`;
  return [
    'to see what was crawled:',
    `${ask} "${statusesQuery}"`,
    `${ask} "${largestHostsQuery}"`,
    'to see the dashboard again:',
    `  ${programName()} replay ${shownCrawl(config)}`,
  ].join('\n');
}
