// `ubiring status`: prints the status of all agents. Agents of the config that are not members are
// listed as well, so that a missing agent is noticed.

import type { AgentStatus } from '../../monitor/agent-status.ts';
import { localAgents } from '../agent/local-agents.ts';
import { caller } from '../common/caller.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { startingEnded } from '../common/launch-lock.ts';
import {
  type CommonFlags,
  loadResolved,
  nameOrLaunch,
  type ResolvedConfig,
  shownCrawl,
  startCommand,
} from '../common/load-config.ts';
import {
  bytesText,
  count,
  durationText,
  print,
  printable,
  programName,
  renderTable,
  say,
  styled,
  type TableColumn,
  warn,
} from '../common/output.ts';
import { foundAgents } from '../common/query-files.ts';
import { lockedAgents, noAnswerText } from '../common/running.ts';
import { nextSteps } from '../query/next-steps.ts';
import { agentsQuery } from '../query/query-examples.ts';
import { askStatus } from '../remote/ask-status.ts';
import { withoutLeft } from '../remote/left-agents.ts';
import {
  type CheckedCompletion,
  checkedCompletion,
  type Unsound,
} from '../state-files/completion-check.ts';
import type { CompletionNote } from '../state-files/completion-file.ts';
import { repairLines } from '../state-files/crawl-files.ts';
import { refuseOtherCrawl } from '../state-files/other-crawl.ts';
import { budgetsText } from './status-budgets.ts';
import { fewCopiesText } from './status-copies.ts';
import { directivesText, type ListedDirective, listedDirectives } from './status-directives.ts';
import { recentLines } from './status-events.ts';
import { networksText } from './status-networks.ts';
import { trafficText } from './status-traffic.ts';

/** The start commands of at most this many agents are printed, so that the output stays short. */
const startsMax = 5;
/** Addresses of dashboards that are shown. */
const dashboardsMax = 8;

/** What `--json` prints. */
export interface ClusterStatus {
  readonly agents: readonly AgentStatus[];
  /** Configured agents and members that did not answer, without `left`. */
  readonly unreachable: readonly string[];
  /** Configured agents that have left the cluster; absent if there are none. */
  readonly left?: readonly string[];
  /** Those of them whose answer has a wrong shape; absent if there are none. */
  readonly unreadable?: readonly string[];
  /** With the overlay kademlia: the agents, in groups that know nobody of each other. */
  readonly groups?: readonly (readonly string[])[];
  /** Directives in force, the newest first. */
  readonly orders?: readonly ListedDirective[];
  /** Set if no agent answers because the crawl is complete. */
  readonly complete?: Pick<CompletionNote, 'at' | 'agents'>;
  /** Agents of the complete crawl whose state is missing or damaged; absent if there are none. */
  readonly unsound?: readonly Unsound[];
}

export async function status(
  file: string,
  flags: CommonFlags & { readonly json?: boolean },
): Promise<ExitCode> {
  const loaded = await loadResolved(file, flags, { allocate: false, part: true });
  if (!loaded.ok) return loaded.code;
  const { agents } = loaded.config.cluster;
  await startingEnded(loaded.config.agent.dataDir);
  const answer = await askStatus(loaded.config);
  if (!answer.ok) return withoutAnswer(loaded.config, answer.failures, flags);
  const cluster = clusterStatus(
    answer.result,
    agents.map(({ id }) => id),
  );
  if (flags.json) await print(`${JSON.stringify(cluster)}\n`);
  else await print(`${statusText(cluster, fewCopiesText(cluster.agents, loaded.config))}\n`);
  const strange = groupsText(cluster, loaded.config);
  if (!flags.json && strange !== null) warn(strange);
  const { left = [], unreadable = [] } = cluster;
  if (!flags.json && left.length > 0) say(leftText(left, loaded.config));
  if (!flags.json && cluster.unreachable.length > 0) {
    const silent = printable(cluster.unreachable.join(', '));
    say(`${styled('yellow', 'no answer from', caller().stderr)} ${silent}`);
    if (unreadable.length > 0) say(unreadableText(unreadable));
    const known = agents
      .map(({ id }) => id)
      .filter((id) => cluster.unreachable.includes(id) && !unreadable.includes(id));
    if (known.length > 0) say('if one of them does not run, start it on its machine:');
    for (const id of known.slice(0, startsMax)) say(`  ${startCommand(id, loaded.config)}`);
  }
  return 0;
}

/**
 * Shows what is known if no agent answers: that the crawl is complete, or why it is not.
 *
 * @param failures - a sentence for each agent
 */
export async function withoutAnswer(
  config: ResolvedConfig,
  failures: readonly string[],
  flags: { readonly json?: boolean },
): Promise<ExitCode> {
  refuseOtherCrawl(config);
  const { local } = await localAgents(config.cluster.agents);
  const completion = checkedCompletion(
    config,
    local.map(({ id }) => id),
  );
  if (completion.kind === 'complete' || completion.kind === 'unsound') {
    return completed(config, completion, flags);
  }
  say(...failures);
  if (completion.kind === 'changed') {
    say(`the next launch continues the crawl: ${completion.why.join('; ')}`);
  }
  if (completion.kind === 'other') {
    say('the crawl was complete, but its seeds, limits or scope were others: launch continues it');
  }
  const { dataDir } = config.agent;
  const locked = lockedAgents(dataDir, config.cluster.agents);
  if (locked.length > 0) {
    say(noAnswerText(locked));
    return 1;
  }
  if (foundAgents(dataDir).length === 0) {
    say(`no agent answers, and none has a state in ${dataDir}; ${nameOrLaunch(config)}`);
    return 1;
  }
  const query = `${programName()} query ${shownCrawl(config)} "${agentsQuery}"`;
  say(`no agent answers; start the crawl, or query its state files:\n  ${query}`);
  return 1;
}

/** What to do if the agents that answer are several clusters; null: they are one. */
export function groupsText({ groups = [] }: ClusterStatus, config: ResolvedConfig): string | null {
  if (groups.length < 2) return null;
  return (
    `${groups.map((ids) => ids.join(', ')).join(' and ')} do not know each other: they are ` +
    `${groups.length} clusters, which visit the same hosts; stop the agents of all clusters but ` +
    `one (${programName()} stop ${shownCrawl(config)} ID ...), add the address of one that runs to ` +
    'cluster.contacts, and start them again'
  );
}

/** The cause, `; ` and the remedy. */
export function unreadableText(ids: readonly string[]): string {
  const answers = ids.length === 1 ? 'the answer' : 'the answers';
  const what = `${answers} of ${ids.join(', ')} cannot be read`;
  return printable(`${what}; install the same version of ubiring on all machines`);
}

function leftText(ids: readonly string[], config: ResolvedConfig): string {
  const starts = ids.slice(0, startsMax).map((id) => `  ${startCommand(id, config)}`);
  const lines = ids.map((id) => `${id} has left; remove it from the config, or start it again:`);
  return lines.flatMap((line, k) => [line, ...starts.slice(k, k + 1)]).join('\n');
}

/** Shows that all agents have exited because the crawl is complete. Fails if a state is lost. */
async function completed(
  config: ResolvedConfig,
  completion: Extract<CheckedCompletion, { kind: 'complete' | 'unsound' }>,
  flags: { readonly json?: boolean },
): Promise<ExitCode> {
  const { at, agents } = completion.note;
  const unreachable = config.cluster.agents.map(({ id }) => id);
  const lost = completion.kind === 'unsound' && { unsound: completion.agents };
  const cluster: ClusterStatus = { agents: [], unreachable, complete: { at, agents }, ...lost };
  const code = completion.kind === 'complete' ? 0 : 4;
  if (flags.json) await print(`${JSON.stringify(cluster)}\n`, code);
  else {
    const when = new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
    await print(`the crawl was completed at ${when} with agents ${agents.join(', ')}\n`, code);
    if (completion.kind === 'complete') say(nextSteps(config));
  }
  if (completion.kind === 'complete') return code;
  const whys = completion.agents.map(({ agent, why }) => `${agent}: ${why}`);
  say([...whys, ...repairLines(config, completion.copies)].join('\n'));
  return code;
}

/** @param result - an agent's response to `status` */
export function clusterStatus(result: unknown, configured: readonly string[]): ClusterStatus {
  const { agents, groups = [], orders = [], ...others } = result as ClusterStatus;
  const { unreachable, unreadable = [] } = others;
  const heard = new Set(agents.map(({ id }) => id));
  const silent = new Set(
    [...unreachable, ...unreadable, ...configured].filter((id) => !heard.has(id)),
  );
  const byId = (a: { id: string }, b: { id: string }) => a.id.localeCompare(b.id, 'en', numeric);
  const sorted = [...silent].sort((a, b) => a.localeCompare(b, 'en', numeric));
  const away = withoutLeft({ agents, unreachable: sorted });
  return {
    agents: agents.toSorted(byId),
    ...away,
    ...(unreadable.length > 0 && { unreadable }),
    ...(groups.length > 1 && { groups }),
    // An agent that has left gets them if it joins again.
    orders: listedDirectives(orders, [...heard, ...away.unreachable]),
  };
}

/** Sorts a2 before a10. */
const numeric = { numeric: true } as const;

/**
 * Tables of at most 80 columns, and the latest events.
 *
 * @param few - that too few agents run for the copies; null: enough run
 */
export function statusText(cluster: ClusterStatus, few: string | null = null): string {
  const { agents, orders = [] } = cluster;
  const happened = recentLines(agents);
  const tables = [
    ...[crawlTable(cluster), few, joinsText(agents), waitsText(agents)],
    directivesText(orders),
    ...[safetyTable(agents), budgetsText(agents), networksText(agents), trafficText(agents)],
    dashboardsText(agents),
  ];
  const parts = tables.filter((text) => text !== null);
  if (happened.length > 0) parts.push(`lately:\n${happened.join('\n')}`);
  return parts.join('\n\n');
}

/** Why agents have not joined; null: all have, or will soon. */
function joinsText(agents: readonly AgentStatus[]): string | null {
  const lines = agents.flatMap(({ id, waits }) => {
    return waits === undefined ? [] : [printable(`${id} ${waits}`)];
  });
  return lines.length === 0 ? null : lines.join('\n');
}

/** Where agents serve the dashboard; null: none does. */
function dashboardsText(agents: readonly AgentStatus[]): string | null {
  const lines = agents.flatMap(({ id, dashboard }) => {
    return dashboard === undefined ? [] : [printable(`  ${id}  ${dashboard}`)];
  });
  if (lines.length === 0) return null;
  const shown = lines.slice(0, dashboardsMax);
  const more = lines.length - shown.length;
  const rest = more > 0 ? [`  … and ${count(more)} more (--json)`] : [];
  return ['dashboards, each of the whole cluster:', ...shown, ...rest].join('\n');
}

/** A possible reason why a crawl with a queue is stalled; null if no host waits. */
function waitsText(agents: readonly AgentStatus[]): string | null {
  const waits = agents.reduce((sum, agent) => sum + agent.hostsAwaitingRobots, 0);
  if (waits === 0) return null;
  return `waiting for robots.txt: ${count(waits)} (view hosts: robots = 'unreachable')`;
}

function columnsOf(titles: readonly string[], numbers: readonly string[]): TableColumn[] {
  return [
    ...titles.map((title) => ({ title })),
    ...numbers.map((title) => ({ title, align: 'right' as const })),
  ];
}

/**
 * Agents that do not answer follow the others; the sums are without them. The capacities are shown
 * if one is not 1.
 */
function crawlTable(cluster: ClusterStatus): string {
  const { agents, unreachable, left = [] } = cluster;
  const isEven = agents.every(({ capacity }) => capacity === 1);
  const rowOf = (id: string, state: string, of: readonly AgentStatus[]) => {
    const sum = (one: (agent: AgentStatus) => number) => of.reduce((s, a) => s + one(a), 0);
    return [
      id,
      state,
      ...(isEven ? [] : [String(sum((a) => a.capacity))]),
      count(sum((a) => a.hosts)),
      count(sum((a) => a.pages)),
      count(sum((a) => a.queued)),
      `${sum((a) => a.openRequests)}/${sum((a) => a.threads)}`,
      `${sum((a) => a.pagesPerSecond).toFixed(1)}/s`,
    ];
  };
  const rows = agents.map((agent) => {
    return [...rowOf(agent.id, stateOf(agent), [agent]), durationText(agent.uptimeMs)];
  });
  const share = isEven ? [] : ['capacity'];
  const numbers = [...share, 'hosts', 'pages', 'queue', 'open', 'rate', 'up'];
  const columns = columnsOf(['agent', 'state'], numbers);
  const rowWith = (state: string) => (id: string) => [id, state, ...numbers.map(() => '-')];
  const silent = [...left.map(rowWith('left')), ...unreachable.map(rowWith('no answer'))];
  const all = agents.length + silent.length > 1 ? [rowOf('all', '', agents)] : [];
  return renderTable(columns, [...rows, ...silent, ...all]);
}

/**
 * Members and the relayed ones among them, data without copies yet, and the load of the process.
 */
function safetyTable(agents: readonly AgentStatus[]): string {
  const columns = columnsOf(
    ['agent'],
    ['peers', 'relay', 'copy lag', 'unsettled', 'unanswered', 'outbox', 'loop', 'memory'],
  );
  const rows = agents.map((agent) => [
    agent.id,
    String(agent.members.length),
    String(agent.members.filter(({ relayed }) => relayed).length),
    count(agent.copyLag),
    count(agent.unsettled),
    count(agent.unanswered),
    count(agent.outbox),
    `${agent.loopDelayMs.toFixed(0)} ms`,
    bytesText(agent.rssBytes),
  ]);
  return renderTable(columns, rows);
}

export function stateOf(agent: AgentStatus): string {
  const { lifecycle, joined, idle, paused, capacity, handOff } = agent;
  if (lifecycle !== 'crawling') return lifecycle;
  if (!joined) return 'joining';
  if (capacity === 0) return handOff.given > 0 ? 'draining' : 'drained';
  if (paused) return 'paused';
  return idle ? 'idle' : 'crawling';
}
