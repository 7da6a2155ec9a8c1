// A third of the hosts gives no answer until every page of the others has been fetched: so the
// others are not held up by them, however slow the machine is, or the crawl could never end.
// The slower of these tests; the others are in `test/integration/head-of-line.test.ts`.

import { test } from 'node:test';
import { crawlBesideSlowHosts } from '../head-of-line-stage.ts';

const cases = [
  {
    // With 16 threads 32 hosts are visited at a time, those whose answers are slow not counted.
    title: 'more hosts that do not answer than are visited at a time, found first, hold nobody up',
    ...{ hosts: 42, slowHosts: 40, pages: 15, slowPages: 1, threads: 16 },
  },
  {
    title: 'many times as many hosts that do not answer as threads, found first, hold nobody up',
    ...{ hosts: 62, slowHosts: 60, pages: 15, slowPages: 1, threads: 4 },
  },
];

for (const { title, ...web } of cases) {
  test(`visits: ${title}`, (t) => crawlBesideSlowHosts(t, web));
}
