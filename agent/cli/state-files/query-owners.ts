// Computes the current owner of each host from the state files: the ring over the last known view.
// The view follows from the events of the file with the latest event. The owner decides between
// files that claim the same URL or host, since the file of a dead agent claims its hosts for ever.

import { hash } from 'node:crypto';
import { Ring } from '../../../assignment/ring.ts';
import { type Config, membersOf } from '../../../config/config.ts';
import { isDamage, type StateFile } from '../common/query-files.ts';

/** The membership of an agent according to the events of its file. */
export interface Course {
  readonly agent: string;
  /** Agents that it counts as alive, itself included unless it has left. */
  readonly view: ReadonlySet<string>;
  /** All agents that were ever in its view. */
  readonly met: ReadonlySet<string>;
  /** The capacity of each agent at its last join; the current config may differ. */
  readonly capacities: ReadonlyMap<string, number>;
  /** `cluster.backups` when the crawl was completed; null if that was not recorded. */
  readonly backups: number | null;
  /** How its last run ended; null if that is unknown. */
  readonly end: 'complete' | 'left' | null;
  /** Unix milliseconds of the last event except refusals; -Infinity if it never joined. */
  readonly lastAt: number;
}

export interface Owners {
  /** The last known view, sorted. */
  readonly view: readonly string[];
  /** Whether the file with the latest event says that the crawl is complete. */
  readonly complete: boolean;
  /** One for each file, in the order of the files. */
  readonly courses: readonly Course[];
  /** Copies of each host in addition to the owner's, if there are enough agents. */
  readonly backups: number;
  /** Undefined if the view is empty. */
  owner(host: string): string | undefined;
  /** The owner and the backups. */
  holders(host: string): readonly string[];
}

type OwnersConfig = Pick<Config, 'cluster'>;

export function ownersOf(files: readonly StateFile[], config: OwnersConfig): Owners {
  const courses = files.map(courseOf);
  const last = courses.reduce<Course | null>((latest, course) => {
    return latest === null || course.lastAt > latest.lastAt ? course : latest;
  }, null);
  // Without events no agent was removed.
  const known = last && last.lastAt > -Infinity ? last.view : courses.map(({ agent }) => agent);
  const view = [...known].sort();
  // An agent that is no longer in the config keeps its hosts.
  const configured = new Map(membersOf(config).map(({ id, capacity }) => [id, capacity]));
  const members = view.map((id) => {
    return { id, capacity: last?.capacities.get(id) ?? configured.get(id) ?? 1 };
  });
  const { replicas } = config.cluster;
  const backups = last?.backups ?? config.cluster.backups;
  const sha256 = (text: string) => hash('sha256', text, 'buffer');
  const ring = members.length === 0 ? null : new Ring(members, { replicas, sha256 });
  return {
    view,
    complete: last?.end === 'complete',
    courses,
    backups,
    owner: (host) => ring?.owner(host),
    holders: (host) => ring?.order(host, backups + 1) ?? [],
  };
}

/** Number of agents that have a copy of each host, without its owner. */
export function copiesOf(backups: number, view: readonly string[]): number {
  return Math.max(Math.min(backups, view.length - 1), 0);
}

/** Goes through the events of a file in the order in which they were written. */
function courseOf(file: StateFile): Course {
  const { agent } = file;
  const met = new Set([agent]);
  const capacities = new Map<string, number>();
  let view = new Set([agent]);
  let end: Course['end'] = null;
  let backups: number | null = null;
  let lastAt = -Infinity;
  let hasJoined = false;
  for (const [at, kind, text] of eventsOf(file)) {
    if (kind !== 'refused') lastAt = Math.max(lastAt, Number(at));
    const detail = parsed(text);
    const mine = detail.agent === undefined || detail.agent === agent;
    // An agent that leaves after the crawl is complete does not change the owners.
    if (end === 'complete' && !mine) continue;
    if (kind === 'join') {
      if (mine) [end, backups, hasJoined] = [null, null, true];
      if (mine && detail.view) view = new Set(detail.view);
      if (detail.agent !== undefined) view.add(detail.agent);
      if (detail.capacity) capacities.set(detail.agent ?? agent, detail.capacity);
    } else if (kind === 'rejoin') end = null;
    else if (kind === 'complete') {
      end = 'complete';
      backups = detail.backups ?? null;
      if (detail.view) view = new Set(detail.view);
    } else if (kind === 'leave' && mine) {
      end = 'left';
      view.delete(agent);
    } else if (kind === 'leave' || kind === 'suspect' || kind === 'remove') {
      if (detail.agent !== undefined) view.delete(detail.agent);
    }
    for (const id of view) met.add(id);
  }
  if (!hasJoined) lastAt = -Infinity;
  return { agent, view, met, capacities, backups, end, lastAt };
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
  readonly view?: readonly string[];
  readonly capacity?: number;
  readonly backups?: number;
}

function parsed(text: unknown): Detail {
  try {
    const detail = JSON.parse(String(text)) as Record<keyof Detail, unknown>;
    const { agent, view, capacity, backups } = detail;
    return {
      ...(typeof backups === 'number' ? { backups } : {}),
      ...(typeof capacity === 'number' ? { capacity } : {}),
      ...(typeof agent === 'string' ? { agent } : {}),
      ...(Array.isArray(view) ? { view: view.map(String) } : {}),
    };
  } catch {
    return {};
  }
}
