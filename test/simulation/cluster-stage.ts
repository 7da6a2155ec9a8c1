// The setup shared by `cluster.test.ts` and `slow/cluster.test.ts`.

import assert from 'node:assert/strict';
import { Cluster } from './cluster.ts';
import { chainWeb } from './webs.ts';

export const ROOT = 'http://h0.test/p0';

export function cluster(ids: readonly string[], hosts = 12, pages = 8, more = {}): Cluster {
  return new Cluster({ ids, web: chainWeb(hosts, pages), seeds: [ROOT], ...more });
}

export function assertAllFetchedOnce(c: Cluster, count: number): void {
  const fetched = c.fetched();
  assert.equal(fetched.size, count);
  assert.deepEqual(
    [...fetched].filter(([, times]) => times !== 1),
    [],
  );
  assert.deepEqual(c.impolite(), []);
}

export function ends(c: Cluster): Record<string, number | undefined> {
  return Object.fromEntries([...c.agents].map(([id, a]) => [id, a.end?.code]));
}
