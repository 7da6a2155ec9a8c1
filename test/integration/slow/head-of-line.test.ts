// Some hosts do not answer until every page of the other hosts has been fetched. The crawl can end
// only if these hosts do not delay the others.
// The slower of these tests; the others are in `test/integration/head-of-line.test.ts`.

import { test } from 'node:test';
import { crawlBesideSlowHosts } from '../head-of-line-stage.ts';

test('visits: hosts without answers do not delay others, even if many times the number of threads', (t) => {
  // 4 threads visit 8 hosts at a time, not counting hosts with slow answers.
  const web = { hosts: 62, slowHosts: 60, pages: 15, slowPages: 1, threads: 4 };
  return crawlBesideSlowHosts(t, web);
});
