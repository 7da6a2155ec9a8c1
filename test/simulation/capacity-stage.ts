// Directives and helpers for the simulations that change capacities.

import type { Cluster } from './cluster.ts';
import type { What } from './orders-stage.ts';

export const NINE = Array.from({ length: 9 }, (_, i) => `a${i + 1}`);
/** All views are partial. */
export const kademlia = { contacts: ['a1', 'a2'], ids: 1, neighbourhood: 4, bucketSize: 4 };
export const drain = (host: string, value: number | null = 1): What => ({
  kind: 'drain',
  host,
  value,
});
export const capacity = (host: string, value: number | null): What => ({
  kind: 'capacity',
  host,
  value,
});

export function ownedBy(c: Cluster, id: string): number {
  const sql = 'SELECT count(*) FROM hosts';
  return c.disks.get(id)!.db.prepare<[], number>(sql).pluck().get()!;
}

/** Runs until all agents have joined and no host is being handed over. */
export function untilSettled(c: Cluster, has: (id: string) => boolean): void {
  c.runUntil('the hosts have moved', () => {
    const all = c.living().map(({ id }) => c.snapshot(id));
    const isStill = ({ given, owed, awaited }: (typeof all)[0]['handOff']) =>
      given + owed + awaited === 0;
    return all.every(({ id, joined, handOff }) => joined && isStill(handOff) && has(id));
  });
}
