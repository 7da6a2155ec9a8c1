// The setup shared by `busy-hosts.test.ts` and `slow/busy-hosts.test.ts`.

import type { AgentId } from '../../agent/core/protocol/messages.ts';
import { Cluster } from './cluster.ts';
import type { ClusterOptions } from './cluster-options.ts';
import { chainWeb } from './webs.ts';

export const IDS = ['a1', 'a2', 'a3', 'a4'];
export const HOST = 'h1.test';
export const MINUTE = 60_000;
export const WAIT_MS = MINUTE;
/** The server answers that it is busy to all requests except the first page and robots.txt. */
export const isRefused = (url: string) => !url.endsWith('/p0') && !url.endsWith('/robots.txt');

export function crawl(more: Partial<ClusterOptions>, ids: readonly AgentId[] = IDS): Cluster {
  const web = chainWeb(12, 40);
  const c = new Cluster({ ids: IDS, web, seeds: ['http://h0.test/p0'], ...more });
  for (const id of ids) c.start(id);
  return c;
}

export const busyFor = (retryAfterMs: number | null): Partial<ClusterOptions> => ({
  busy: ({ host, url }) => (host === HOST && isRefused(url) ? { status: 503, retryAfterMs } : null),
});

export const toHost = (c: Cluster, since = 0) =>
  c.log.filter(({ host, start }) => host === HOST && start > since);

/** The owner of the host, once the server named a wait and the copies have recorded it. */
export function told(c: Cluster): { owner: AgentId; saidAt: number } {
  const refused = () =>
    c.log.find(({ host, url, whole }) => host === HOST && isRefused(url) && whole);
  c.runUntil('the host is busy', () => refused() !== undefined);
  const { by, end } = refused()!;
  c.run(200);
  return { owner: by, saidAt: end };
}

export function heirOf(c: Cluster): AgentId {
  return c.order(
    HOST,
    c.living().map(({ id }) => id),
  )[0]!;
}
