// The membership of the cluster as the events of the state files describe it. On the ring every
// agent knows all members, so the file with the latest event decides who was a member last. With the
// overlay kademlia an agent knows only its neighbours, so the latest event about each agent decides,
// in whichever file it is.

import type { Config } from '../../../config/config.ts';
import { addressesIn } from '../../storage/tables/kept-addresses.ts';
import { isDamage, type StateFile } from '../common/query-files.ts';

/** The last that a file says about an agent. */
export interface Sighting {
  /** Unix milliseconds. */
  readonly at: number;
  readonly isAlive: boolean;
}

/** The membership of an agent according to the events of its file. */
export interface EventHistory {
  readonly agent: string;
  /** Agents that it counts as alive, itself included unless it has left. */
  readonly view: ReadonlySet<string>;
  /** The last event about each agent: when it was seen to be alive, or not any more. */
  readonly sightings: ReadonlyMap<string, Sighting>;
  /** Agents that it knew and did not meet when it joined again, with the time of that join. */
  readonly missed: ReadonlyMap<string, number>;
  /** The capacity of each agent at its last join; the current config may differ. */
  readonly capacities: ReadonlyMap<string, number>;
  /** `cluster.backups` when the crawl was completed; null if that was not recorded. */
  readonly backups: number | null;
  /** How its last run ended; null if that is unknown. */
  readonly end: 'complete' | 'left' | null;
  /**
   * Unix milliseconds of the last event except refusals and directives, which the files of dead
   * agents receive, too; -Infinity if it never joined.
   */
  readonly lastAt: number;
}

export interface LastView {
  /** The history with the latest event; null if there are no files. */
  readonly last: EventHistory | null;
  /** The members, sorted. */
  readonly view: readonly string[];
  /** The capacity of each agent at its last known join. */
  readonly capacities: ReadonlyMap<string, number>;
}

export function lastView(
  histories: readonly EventHistory[],
  overlay: Config['cluster']['overlay'],
): LastView {
  const last = histories.reduce<EventHistory | null>((latest, history) => {
    return latest === null || history.lastAt > latest.lastAt ? history : latest;
  }, null);
  // Without events no agent was removed.
  if (last === null || last.lastAt === -Infinity) {
    const view = histories.map(({ agent }) => agent).sort();
    return { last, view, capacities: last?.capacities ?? new Map() };
  }
  if (overlay === 'ring') return { last, view: [...last.view].sort(), capacities: last.capacities };
  return { last, view: aliveIn(histories), capacities: capacitiesOf(histories) };
}

function aliveIn(histories: readonly EventHistory[]): readonly string[] {
  const latest = new Map<string, Sighting>();
  const missing = missingIn(histories);
  for (const { agent, sightings, lastAt } of histories) {
    // An agent that never joined knows nothing of the others.
    if (lastAt === -Infinity) continue;
    for (const [id, sighting] of sightings) {
      // Agents that have not run since are not witnesses for each other.
      if (sighting.isAlive && missing.has(id) && missing.has(agent)) continue;
      const before = latest.get(id);
      if (!before || sighting.at >= before.at) latest.set(id, sighting);
    }
  }
  return [...latest].flatMap(([id, { isAlive }]) => (isAlive ? [id] : [])).sort();
}

/**
 * The agents without an event since another joined again without meeting them. If all agents were
 * killed at once, nobody has recorded that some did not return. Others may still be neighbours.
 */
function missingIn(histories: readonly EventHistory[]): ReadonlySet<string> {
  const ids = histories.flatMap(({ agent, lastAt }) => {
    const isMissed = histories.some(({ missed }) => (missed.get(agent) ?? -Infinity) > lastAt);
    return isMissed ? [agent] : [];
  });
  return new Set(ids);
}

/** What an agent says about itself counts most; a former neighbour may not know the present value. */
function capacitiesOf(histories: readonly EventHistory[]): ReadonlyMap<string, number> {
  const byAge = histories.toSorted((a, b) => a.lastAt - b.lastAt);
  const own = byAge.flatMap(({ agent, capacities }) => {
    const capacity = capacities.get(agent);
    return capacity === undefined ? [] : [[agent, capacity] as const];
  });
  return new Map([...byAge.flatMap(({ capacities }) => [...capacities]), ...own]);
}

/** Goes through the events of a file in the order in which they were written. */
export function historyOf(file: StateFile): EventHistory {
  const { agent } = file;
  const sightings = new Map<string, Sighting>();
  const missed = new Map<string, number>();
  const capacities = new Map<string, number>();
  let view = new Set([agent]);
  let end: EventHistory['end'] = null;
  let backups: number | null = null;
  let lastAt = -Infinity;
  let hasJoined = false;
  for (const [time, kind, text] of eventsOf(file)) {
    const at = Number(time);
    if (kind !== 'refused' && kind !== 'order') lastAt = Math.max(lastAt, at);
    const detail = parsed(text);
    const mine = detail.agent === undefined || detail.agent === agent;
    // An agent that leaves after the crawl is complete does not change the owners.
    if (end === 'complete' && !mine) continue;
    if (kind === 'join') {
      if (mine) [end, backups, hasJoined] = [null, null, true];
      if (mine && detail.view) {
        view = new Set(detail.view);
        for (const [id, { isAlive }] of sightings) {
          if (!isAlive || id === agent || view.has(id)) continue;
          sightings.delete(id);
          missed.set(id, at);
        }
      }
      if (detail.agent !== undefined) view.add(detail.agent);
      if (detail.capacity !== undefined) capacities.set(detail.agent ?? agent, detail.capacity);
    } else if (kind === 'rejoin') end = null;
    else if (kind === 'complete') {
      end = 'complete';
      backups = detail.backups ?? null;
      if (detail.view) view = new Set(detail.view);
    } else if (kind === 'order' && REOPENING.includes(detail.order ?? '')) {
      if (end === 'complete') [end, backups] = [null, null];
    } else if (kind === 'leave' && mine) {
      end = 'left';
      view.delete(agent);
    } else if (kind === 'leave' || kind === 'suspect' || kind === 'remove') {
      if (detail.agent !== undefined) view.delete(detail.agent);
    }
    note(sightings, at, kind, { ...detail, agent: detail.agent ?? agent });
    for (const id of sightings.keys()) missed.delete(id);
  }
  if (!hasJoined) lastAt = -Infinity;
  return { agent, view, sightings, missed, capacities, backups, end, lastAt };
}

function note(
  sightings: Map<string, Sighting>,
  at: number,
  kind: unknown,
  { agent, view }: Detail & { readonly agent: string },
): void {
  if (kind === 'join' || kind === 'complete') {
    for (const id of [agent, ...(view ?? [])]) sightings.set(id, { at, isAlive: true });
  } else if (kind === 'leave' || kind === 'suspect' || kind === 'remove') {
    sightings.set(agent, { at, isAlive: false });
  }
}

/** Directives after which there may be URLs to fetch, although the crawl was complete. */
const REOPENING = ['block', 'refresh'];

/** Whether the agent can look for others at addresses of its file, so that it needs no contact. */
export function keepsAddresses(file: StateFile): boolean {
  try {
    const kept = file.first("SELECT value FROM meta WHERE key = 'addresses'");
    return addressesIn(kept?.value).length > 0;
  } catch (error) {
    if (isDamage(error)) return false;
    throw error;
  }
}

/** Empty if the file is damaged; the reader of its other rows reports the damage. */
function eventsOf(file: StateFile): unknown[][] {
  try {
    return [...file.rows('SELECT at, kind, detail FROM event_rows ORDER BY id')];
  } catch (error) {
    if (isDamage(error)) return [];
    throw error;
  }
}

interface Detail {
  readonly agent?: string;
  readonly order?: string;
  readonly view?: readonly string[];
  readonly capacity?: number;
  readonly backups?: number;
}

function parsed(text: unknown): Detail {
  try {
    const detail = JSON.parse(String(text)) as Record<keyof Detail, unknown>;
    const { agent, order, view, capacity, backups } = detail;
    return {
      ...(typeof backups === 'number' ? { backups } : {}),
      ...(typeof capacity === 'number' ? { capacity } : {}),
      ...(typeof agent === 'string' ? { agent } : {}),
      ...(typeof order === 'string' ? { order } : {}),
      ...(Array.isArray(view) ? { view: view.map(String) } : {}),
    };
  } catch {
    return {};
  }
}
