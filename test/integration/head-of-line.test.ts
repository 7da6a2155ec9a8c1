// A third of the hosts gives no answer until every page of the others has been fetched: so the
// others are not held up by them, however slow the machine is, or the crawl could never end.

import { test } from 'node:test';
import { crawlBesideSlowHosts } from './head-of-line-stage.ts';

test('visits: hosts that do not answer hold nobody up while threads are free', (t) => {
  const web = { hosts: 12, slowHosts: 4, pages: 15, slowPages: 3, threads: 12 };
  return crawlBesideSlowHosts(t, web);
});
