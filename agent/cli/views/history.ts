// The past of a crawl from the state files of this machine: samples and events of each agent, and which
// agents were in the cluster at any time. Works during the crawl and after it.

import { CAPACITY_MAX, ID_CHARS_MAX } from '../../messaging/checks/limits.ts';
import { whyUnreadable } from '../../storage/file/reading.ts';
import { EVENTS_OF_MEMBERS, SAMPLES, TIMES } from '../../storage/reads/monitor-queries.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import { foundAgents, openStateFile, type StateFile, stateFileOf } from '../common/query-files.ts';
import { type Problem, unreadableOnes } from '../top/problems.ts';
import type { Unreadable } from '../top/unreadable-states.ts';
import { type Circle, circleView, type Part } from './circle-view.ts';
import type { OpenState } from './kept-copies.ts';

/** Samples of one agent in an answer: one for two pixels of a chart. */
const POINTS_MAX = 600;

export interface History {
  /** Unix milliseconds of the first and the last sample or event; null: there are none. */
  readonly span: { readonly from: number; readonly to: number } | null;
  readonly agents: readonly {
    readonly id: string;
    /** `[at, pages, queued, pagesPerSecond, loopDelayMs]`. */
    readonly samples: readonly (readonly number[])[];
  }[];
  /** When agents joined, left or were removed, oldest first. */
  readonly changes: readonly Change[];
  /** State files that cannot be read. */
  readonly problems: readonly Problem[];
}

export interface Change {
  readonly at: number;
  /** The agent that recorded it, and the agent that it is about. */
  readonly by: string;
  readonly id: string;
  readonly kind: string;
  readonly capacity?: number | undefined;
  /** Of the agent that it is about. */
  readonly incarnation?: number | undefined;
}

export function historyOf(config: ResolvedConfig, open: OpenState = openStateFile): History {
  const agents: History['agents'][number][] = [];
  const changes: Change[] = [];
  const times: number[] = [];
  const lost = eachFile(config, open, (file) => {
    agents.push({ id: file.agent, samples: samplesOf(file) });
    changes.push(...changesOf(file));
    const { first, last } = file.first(TIMES) ?? {};
    for (const at of [first, last]) if (at !== null && at !== undefined) times.push(Number(at));
  });
  changes.sort((a, b) => a.at - b.at);
  const span = times.length > 0 ? { from: Math.min(...times), to: Math.max(...times) } : null;
  return { span, agents, changes, problems: unreadableOnes(lost, config) };
}

/** @returns the files that cannot be read, or only in part */
function eachFile(
  { agent: { dataDir } }: ResolvedConfig,
  open: OpenState,
  read: (file: StateFile) => void,
): Unreadable[] {
  return foundAgents(dataDir).flatMap((agent) => {
    const path = stateFileOf(dataDir, agent);
    const file = open(agent, path);
    if (file === null) return [];
    if (typeof file === 'string') {
      return [{ agent, path, why: file.slice(`${agent}: ${path} `.length) }];
    }
    try {
      read(file);
      return [];
    } catch (error) {
      return [{ agent, path, why: whyUnreadable(error) }];
    } finally {
      file.close();
    }
  });
}

function samplesOf(file: StateFile): number[][] {
  const all = [...file.plainRows(SAMPLES)] as number[][];
  const step = Math.max(1, Math.ceil(all.length / POINTS_MAX));
  // The last one is always among them.
  return all.filter((_, i) => (all.length - 1 - i) % step === 0);
}

function changesOf({ agent, rows }: StateFile): Change[] {
  const changes = [...rows(EVENTS_OF_MEMBERS, 0, Number.MAX_SAFE_INTEGER)].map(
    ([at, kind, named, given, inc]): Change => {
      const id = String(named ?? agent);
      const capacity = given === null ? {} : { capacity: Number(given) };
      const incarnation = inc === null ? {} : { incarnation: Number(inc) };
      return { at: Number(at), by: agent, id, kind: String(kind), ...capacity, ...incarnation };
    },
  );
  // No agent has written the others, and a circle cannot be made of them.
  return changes.filter(({ id, capacity = 0 }) => {
    return id.length <= ID_CHARS_MAX && capacity >= 0 && capacity <= CAPACITY_MAX;
  });
}

/** The circle of the agents that were in the cluster at `at`: the last event about each decides. */
export function circleAt(
  config: ResolvedConfig,
  at: number,
  open: OpenState = openStateFile,
): Circle {
  const changes: Change[] = [];
  eachFile(config, open, (file) => changes.push(...changesOf(file)));
  changes.sort((a, b) => a.at - b.at);
  const { cluster } = config;
  const parts = new Map<string, Part>();
  const capacities = new Map(cluster.agents.map(({ id, capacity }) => [id, capacity]));
  for (const { at: then, kind, id, capacity } of changes) {
    if (then > at) break;
    if (capacity !== undefined) capacities.set(id, capacity);
    if (kind === 'join') parts.set(id, { id, capacity: capacities.get(id) ?? 1 });
    else parts.delete(id);
  }
  const members = [...parts.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  const ids = members.map(({ id }) => id);
  return {
    overlay: cluster.overlay,
    views: members.length > 0 ? [circleView(cluster, ids, members)] : [],
  };
}
