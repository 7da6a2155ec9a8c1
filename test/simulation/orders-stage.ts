// The setup shared by `orders.test.ts` and `slow/orders.test.ts`.

import type { DirectiveReceipt } from '../../agent/core/operator/operator.ts';
import type { Directive } from '../../agent/core/protocol/messages.ts';
import type { Cluster } from './cluster.ts';

export type What = Pick<Directive, 'kind' | 'host' | 'value'>;

export const PAUSE: What = { kind: 'pause', host: '', value: 1 };
export const RESUME: What = { kind: 'pause', host: '', value: null };
export const block = (host: string): What => ({ kind: 'block', host, value: 1 });

/** Gives a directive to one agent, as a command would. The agent passes it on to the others. */
export function give(c: Cluster, id: string, what: What): DirectiveReceipt[] {
  const { core } = c.agents.get(id)!;
  const told: DirectiveReceipt[] = [];
  core.operator.give(what, c.instant(id), (receipt) => told.push(receipt));
  c.runUntil('the directive is on disk', () => told.length > 0, 50);
  return told;
}

/** Requests to the host that began after `since`. */
export function asked(c: Cluster, host: string, since: number): number {
  return c.log.filter((visit) => visit.host === host && visit.start > since).length;
}

export function busyHost(c: Cluster): string {
  return c.log.at(-1)!.host;
}

export function everyoneKnows(c: Cluster, holds: (id: string) => boolean): void {
  c.runUntil('all agents have it', () => c.living().every(({ id }) => holds(id)));
}

export function skipped(c: Cluster, host: string): number {
  let count = 0;
  for (const { id } of c.agents.values()) {
    const { db } = c.disks.get(id)!;
    const sql = "SELECT count(*) FROM skipped WHERE host = ? AND reason = 'blocked'";
    count += db.prepare<[string], number>(sql).pluck().get(host)!;
  }
  return count;
}

export function hasOrders(c: Cluster, id: string, count: number): boolean {
  const sql = 'SELECT count(*) FROM order_rows';
  return c.disks.get(id)!.db.prepare<[], number>(sql).pluck().get() === count;
}
