// Finds the problems of a cluster, each with its remedy, for `top` and the dashboard. A figure that is
// bad for a moment in every crawl, such as copies that are behind, counts only once it has lasted.

import type { AgentStatus } from '../../monitor/agent-status.ts';
import { type ResolvedConfig, shownCrawl, startCommand } from '../common/load-config.ts';
import { bytesText, causeAndRemedy, count, printable, programName } from '../common/output.ts';
import { PAUSED } from '../status/progress-line.ts';
import { type ClusterStatus, groupsText, unreadableText } from '../status/status-command.ts';
import { fewCopiesText } from '../status/status-copies.ts';
import { appliesTo } from '../status/status-directives.ts';
import { failureParts } from '../status/status-networks.ts';
import type { Unreadable } from './unreadable-states.ts';

export interface Problem {
  readonly text: string;
  readonly remedy: string;
  /** The place in the dashboard that shows more: a part, perhaps with filters. */
  readonly place: string;
  /** Hosts are not visited, or results are in danger. */
  readonly isGrave?: true | undefined;
}

/** In a busy crawl some copies are always behind, but within this time their number falls. */
const LAG_MS_MAX = 30_000;
/** Part of `suspectAfterMs`. An agent that is late by all of it is removed. */
const LOOP_DELAY_PART = 0.1;
/** A busy agent with an archive fills this in some minutes. */
const DISK_BYTES_MIN = 1024 ** 3;

type Lagging = Pick<AgentStatus, 'id' | 'copyLag' | 'pagesPerSecond'>;

/** Finds agents whose copies do not catch up. */
export class CopyLags {
  /** By agent that answers: its lag when it last fell, and when that was; monotonic milliseconds. */
  #fallen = new Map<string, { readonly at: number; readonly from: number; readonly lag: number }>();

  /** The agents whose lag has not fallen for `LAG_MS_MAX`: it has grown, or no page is fetched. */
  stuckAt(now: number, agents: readonly Lagging[]): string[] {
    const before = this.#fallen;
    this.#fallen = new Map(
      agents.map(({ id, copyLag: lag }) => {
        const last = before.get(id);
        const isStuck = last !== undefined && lag > 0 && lag >= last.lag;
        return [id, isStuck ? { ...last, lag } : { at: now, from: lag, lag }];
      }),
    );
    const isStuck = ({ id, pagesPerSecond }: Lagging) => {
      const { at, from, lag } = this.#fallen.get(id)!;
      return now - at > LAG_MS_MAX && (lag > from || pagesPerSecond === 0);
    };
    return agents.filter(isStuck).map(({ id }) => id);
  }
}

/** What is known besides the status of the cluster. */
export interface Watched {
  /** The agents whose copies do not catch up. */
  readonly lagging: readonly string[];
  /** The state files on this machine that cannot be read, of agents that do not answer. */
  readonly unreadable: readonly Unreadable[];
}

export function problemsOf(
  cluster: ClusterStatus,
  { lagging, unreadable }: Watched,
  config: ResolvedConfig,
): Problem[] {
  const found = [
    ...silentOnes(cluster, config),
    ...unreadableOnes(unreadable, config),
    ...disksOf(cluster),
    ...groupsOf(cluster, config),
    ...pauses(cluster, config),
    ...cluster.agents.flatMap((agent) => waitsOf(agent)),
    ...copiesOf(cluster, lagging, config),
    ...robotsOf(cluster, config),
    ...trapsOf(cluster, config),
    ...loadsOf(cluster, config),
    ...networksOf(cluster),
  ];
  return found.map(shown);
}

function shown({ text, remedy, ...rest }: Problem): Problem {
  return { text: printable(text), remedy: printable(remedy), ...rest };
}

function silentOnes(cluster: ClusterStatus, config: ResolvedConfig): Problem[] {
  const left = (cluster.left ?? []).map((id) => ({
    text: `${id} has left`,
    remedy: `remove it from the config, or start it: ${startCommand(id, config)}`,
    place: 'agents',
  }));
  const silent = cluster.unreachable.map((id): Problem => {
    if (cluster.unreadable?.includes(id)) {
      const [text = '', remedy = ''] = unreadableText([id]).split('; ');
      return { text, remedy, place: 'agents', isGrave: true };
    }
    const remedy = `if it does not run, start it on its machine: ${startCommand(id, config)}`;
    return { text: `${id} does not answer`, remedy, place: 'agents', isGrave: true };
  });
  return [...silent, ...left];
}

/** A sentence about an agent on another machine, with or without a remedy. */
export function agentProblem(sentence: string): Problem {
  const { cause, remedy } = causeAndRemedy([sentence]);
  const look = 'look at the dashboard of its machine';
  return { text: cause, remedy: remedy || look, place: 'agents' };
}

/** State files that cannot be read; most reasons name the remedy. */
export function unreadableOnes(files: readonly Unreadable[], config: ResolvedConfig): Problem[] {
  return files.map(({ agent, path, why }) => {
    const [clause = '', ...remedy] = why.startsWith('cannot be read:') ? [why] : why.split(/[;:] /);
    const start = `start the agent: ${startCommand(agent, config)}`;
    const repair = `${start}; it sets the file aside if other agents have copies of its contents`;
    const look = 'look at the disk and its permissions, or name another directory with --data';
    const isDamaged = why.startsWith('is damaged');
    return shown({
      text: `${path} ${isDamaged ? why : clause}`,
      remedy: isDamaged ? repair : remedy.join('; ') || look,
      ...{ place: 'replay', isGrave: true },
    });
  });
}

function disksOf({ agents }: ClusterStatus): Problem[] {
  const low = agents.filter((agent) => (agent.diskFreeBytes ?? Infinity) < DISK_BYTES_MIN);
  if (low.length === 0) return [];
  const least = Math.min(...low.map(({ diskFreeBytes }) => diskFreeBytes ?? Infinity));
  const text = `the disk of ${idsOf(low)} has ${bytesText(least)} left; on a full disk they end`;
  const remedy = 'free some space there, or stop them and move their directories to another disk';
  return [{ text, remedy, place: 'agents', isGrave: true }];
}

/** The text begins with the groups; what to do follows the first semicolon. */
function groupsOf(cluster: ClusterStatus, config: ResolvedConfig): Problem[] {
  const [text, ...remedy] = groupsText(cluster, config)?.split('; ') ?? [];
  return text === undefined
    ? []
    : [{ text, remedy: remedy.join('; '), place: 'agents', isGrave: true }];
}

function pauses({ agents, orders = [] }: ClusterStatus, config: ResolvedConfig): Problem[] {
  const paused = agents.filter((agent) => agent.paused);
  const missed = orders.filter(({ missing }) => missing.length > 0);
  const unreached = missed.map((order) => {
    const of = appliesTo(order);
    const what = `${order.kind}${of === '' ? '' : ` of ${of}`}`;
    return {
      text: `${what} has not reached ${order.missing.join(', ')}`,
      remedy: 'an agent obeys as soon as it hears from another one',
      place: 'directives',
    };
  });
  if (paused.length === 0) return unreached;
  const some = `only ${idsOf(paused)} ${paused.length === 1 ? 'is' : 'are'} paused`;
  const text = paused.length === agents.length ? PAUSED : some;
  const remedy = `resume it: ${programName()} resume ${shownCrawl(config)}`;
  return [{ text, remedy, place: 'directives' }, ...unreached];
}

/** The reason names the remedy. */
function waitsOf({ id, waits }: AgentStatus): Problem[] {
  if (waits === undefined) return [];
  const [text = '', ...remedy] = waits.split(/[;:] /);
  return [{ text: `${id} ${text}`, remedy: remedy.join('; '), place: 'agents' }];
}

function copiesOf(
  { agents }: ClusterStatus,
  lagging: readonly string[],
  config: ResolvedConfig,
): Problem[] {
  const few = fewCopiesText(agents, config);
  const behind = agents.filter(({ id }) => lagging.includes(id));
  const hosts = behind.reduce((sum, { copyLag }) => sum + copyLag, 0);
  return [
    ...(few !== null
      ? [
          {
            text: few,
            remedy: 'start the agents that do not answer, or further ones',
            place: 'agents',
          },
        ]
      : []),
    ...(hosts > 0
      ? [
          {
            text: `copies of ${count(hosts)} ${hosts === 1 ? 'host' : 'hosts'} of ${idsOf(behind)} do not catch up`,
            remedy: 'look for a slow disk or network of the agents that keep the copies',
            place: 'agents',
          },
        ]
      : []),
  ];
}

function robotsOf({ agents }: ClusterStatus, config: ResolvedConfig): Problem[] {
  const waiting = agents.filter(({ hostsAwaitingRobots }) => hostsAwaitingRobots > 0);
  const hosts = waiting.reduce((sum, { hostsAwaitingRobots }) => sum + hostsAwaitingRobots, 0);
  if (hosts === 0) return [];
  const reason = waiting.find(({ robotsWaitReason }) => robotsWaitReason)?.robotsWaitReason;
  const text = `${count(hosts)} ${hosts === 1 ? 'host waits' : 'hosts wait'} for robots.txt`;
  const all = `if it is all hosts, look at DNS and network of ${idsOf(waiting)}`;
  const one = `to end the wait of one: ${programName()} block ${shownCrawl(config)} HOST`;
  const place = 'hosts?state=backing+off';
  return [{ text: reason ? `${text}: ${reason}` : text, remedy: `${all}; ${one}`, place }];
}

/** Hosts whose pages repeat (limits.stalePages). */
function trapsOf({ agents }: ClusterStatus, config: ResolvedConfig): Problem[] {
  const found = agents.flatMap(({ traps }) => traps ?? []);
  const [slowed, stopped] = (['slowed', 'stopped'] as const).map((what) => {
    return found.reduce((sum, one) => sum + one[what], 0);
  }) as [number, number];
  const host = found[0]?.host;
  if (host === undefined) return [];
  const parts = [
    ...(slowed > 0 ? [`${count(slowed)} slowed down`] : []),
    ...(stopped > 0 ? [`the queues of ${count(stopped)} skipped`] : []),
  ];
  const hosts =
    slowed + stopped === 1
      ? '1 host repeats its pages'
      : `${count(slowed + stopped)} hosts repeat their pages`;
  const text = `${hosts}, as a spider trap does (${parts.join(', ')}), for example ${host}`;
  const block = `${programName()} block ${shownCrawl(config)} ${host}`;
  const remedy = `if it is a trap: ${block}; if the pages differ, raise limits.stalePages`;
  const place = slowed > 0 ? 'hosts?state=trap' : `lookup?host=${encodeURIComponent(host)}`;
  return [{ text, remedy, place }];
}

function loadsOf({ agents }: ClusterStatus, { cluster }: ResolvedConfig): Problem[] {
  const { suspectAfterMs } = cluster.failureDetector;
  const late = agents.filter(({ loopDelayMs }) => loopDelayMs > LOOP_DELAY_PART * suspectAfterMs);
  return late.map(({ id, loopDelayMs }) => ({
    text: `${id} is late by ${count(loopDelayMs)} ms; at ${count(suspectAfterMs)} ms it is removed`,
    remedy: 'lower agent.threads, or give its machine more CPU time',
    place: 'agents',
  }));
}

function networksOf({ agents }: ClusterStatus): Problem[] {
  const failures = agents.flatMap(({ networks }) => networks?.failures ?? []);
  const warnings = agents.flatMap(({ networks }) => networks?.warnings ?? []);
  const at = (place: string, messages: readonly string[]): Problem[] =>
    [...new Set(messages)].map((message) => ({ ...failureParts(message), place }));
  return [
    ...at(
      'events?kind=network',
      failures.map(({ message }) => message),
    ),
    // A warning is not recorded as an event.
    ...at('agents', warnings),
  ];
}

/** So many agents are named in a text. */
const NAMES_MAX = 6;

function idsOf(agents: readonly AgentStatus[]): string {
  const ids = agents.map(({ id }) => id);
  if (ids.length <= NAMES_MAX + 1) return ids.join(', ');
  return `${ids.slice(0, NAMES_MAX).join(', ')} and ${ids.length - NAMES_MAX} others`;
}
