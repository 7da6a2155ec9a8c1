// Some hosts do not answer until every page of the other hosts has been fetched. The crawl can end
// only if these hosts do not delay the others.
// The slower of these tests; the others are in `test/integration/head-of-line.test.ts`.

import { test } from 'node:test';
import { crawlBesideSlowHosts } from '../head-of-line-stage.ts';

const cases = [
  {
    // 16 threads visit 32 hosts at a time, not counting hosts with slow answers.
    title: 'hosts without answers do not delay others, even if more than are visited at a time',
    ...{ hosts: 42, slowHosts: 40, pages: 15, slowPages: 1, threads: 16 },
  },
  {
    title: 'hosts without answers do not delay others, even if many times the number of threads',
    ...{ hosts: 62, slowHosts: 60, pages: 15, slowPages: 1, threads: 4 },
  },
];

for (const { title, ...web } of cases) {
  test(`visits: ${title}`, (t) => crawlBesideSlowHosts(t, web));
}
