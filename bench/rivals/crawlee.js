// Crawlee's crawler for static HTML, with as many concurrent requests as the others from the first
// moment, and its queue only in memory.
// node crawlee.js THREADS SEED

import { CheerioCrawler, Configuration, LogLevel, log } from '@crawlee/cheerio';

const [threads, seed] = process.argv.slice(2);
log.setLevel(LogLevel.ERROR);
let failed = 0;
const crawler = new CheerioCrawler(
  {
    minConcurrency: Number(threads),
    maxConcurrency: Number(threads),
    requestHandler: async ({ enqueueLinks }) => {
      await enqueueLinks({ strategy: 'all' });
    },
    failedRequestHandler: () => {
      failed++;
    },
  },
  new Configuration({ persistStorage: false }),
);
await crawler.run([seed]);
process.exit(failed === 0 ? 0 : 1);
