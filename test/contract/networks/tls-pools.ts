// A process that opens the pools at the URL in its argument and prints whether a centre is there:
// Node reads NODE_EXTRA_CA_CERTS only at its start.

import { openPools } from '../../../agent/networks/redis/open-pools.ts';

const { pools, ready } = await openPools({
  crawl: 'c',
  network: 'berlin',
  url: process.argv[2]!,
  timeoutMs: 10_000,
  environment: {},
});
try {
  await ready;
  process.stdout.write(`centre: ${(await pools.presence()).hasCentre}\n`);
} catch (error) {
  process.stdout.write(`${(error as Error).message}\n`);
} finally {
  pools.close();
}
