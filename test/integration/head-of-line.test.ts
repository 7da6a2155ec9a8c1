// Some hosts do not answer until every page of the other hosts has been fetched. The crawl can end
// only if these hosts do not delay the others.

import { test } from 'node:test';
import { crawlBesideSlowHosts } from './head-of-line-stage.ts';

test('visits: hosts that do not answer do not delay others while threads are free', (t) => {
  const web = { hosts: 12, slowHosts: 4, pages: 15, slowPages: 3, threads: 12 };
  return crawlBesideSlowHosts(t, web);
});
