// The setup shared by `scope-change.test.ts` and `slow/scope-change.test.ts`.

import type { UrlScope } from '../../agent/url/request-scope.ts';
import type { Cluster } from './cluster.ts';

export const IDS = ['a1', 'a2', 'a3'] as const;
export const isOdd = (url: string) => /[13579]$/.test(url);
/** Admits pages with even numbers, except those of the host h2.test. */
export const NARROW: UrlScope = {
  covers: (host) => host !== 'h2.test',
  admits: (host, { url }) => host !== 'h2.test' && !isOdd(url),
};

/** Kills all agents at once and starts them again under another config. */
export function restart(c: Cluster, scope: UrlScope): void {
  for (const { id } of c.living()) c.kill(id);
  c.scope = scope;
  c.startAll();
}

export function skippedByScope(c: Cluster): string[] {
  return IDS.flatMap((id) => {
    const sql = "SELECT url FROM skipped WHERE reason = 'scope'";
    return c.disks.get(id)!.db.prepare<[], string>(sql).pluck().all();
  });
}
