/** Runs the fetch contract on the adapter of Node's own client. */

import { createNodeFetcher } from '../../../agent/fetch/client/node-fetcher.ts';
import { fetcherContract } from './fetcher-contract.ts';

fetcherContract('node fetcher', (settings) =>
  createNodeFetcher({
    userAgent: 'ubiring-test',
    now: () => performance.timeOrigin + performance.now(),
    ...settings,
    wallNow: () => Date.now(),
  }),
);
