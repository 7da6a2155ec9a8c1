// Who owns which host now, as far as the state files tell: the ring over the last known view. Each
// file's events say which agents its writer counted as alive; the file with the latest event knows
// best. That is what decides between several files that say the same of a URL or a host, since a
// dead agent's file claims for ever what others have taken over. Used by `query`, the summary of
// `launch`, and `audit`.

import { hash } from 'node:crypto';
import { Ring } from '../../../assignment/ring.ts';
import { type Config, membersOf } from '../../../config/config.ts';
import { isDamage, type StateFile } from '../common/query-files.ts';

/** What one file's events come to. */
export interface Course {
  readonly agent: string;
  /** Agents that it counted as alive, itself included unless it left. */
  readonly view: ReadonlySet<string>;
  /** Everyone that ever was in its view. */
  readonly met: ReadonlySet<string>;
  /** The capacities that they joined with, the last of each: the config of today may differ. */
  readonly capacities: ReadonlyMap<string, number>;
  /** `cluster.backups` at the end of a complete crawl; null where the end did not record it. */
  readonly backups: number | null;
  /** How its last life went on, as far as it could tell. */
  readonly end: 'complete' | 'left' | null;
  /**
   * Unix milliseconds of the last event from which its view follows, so not of what it refused;
   * -Infinity if it never joined.
   */
  readonly lastAt: number;
}

export interface Owners {
  /** The agents last known in view, sorted. */
  readonly view: readonly string[];
  /** Whether the crawl was complete when the last of them wrote. */
  readonly complete: boolean;
  readonly courses: readonly Course[];
  /** Copies of each host beside the owner's, if there are so many agents. */
  readonly backups: number;
  /** The first of the host's order among them; undefined where none is in view. */
  owner(host: string): string | undefined;
  /** The owner and the backups, as many as there can be. */
  holders(host: string): readonly string[];
}

type OwnersConfig = Pick<Config, 'cluster'>;

export function ownersOf(files: readonly StateFile[], config: OwnersConfig): Owners {
  const courses = files.map(courseOf);
  const last = courses.reduce<Course | null>((latest, course) => {
    return latest === null || course.lastAt > latest.lastAt ? course : latest;
  }, null);
  // Without any event nobody was ever removed.
  const known = last && last.lastAt > -Infinity ? last.view : courses.map(({ agent }) => agent);
  const view = [...known].sort();
  // An agent that the config does not have any more keeps the hosts that it had at the end.
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

/** How many agents beside its owner have each host. */
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
    // Who goes after the end of the crawl took no hosts along.
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

/** Damage is told where the rest of the file is read. */
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
