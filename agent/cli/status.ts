// `ubiring status`: what the agents say of themselves. Any agent knows the others, so one answer is
// enough; agents that the config names and nobody heard of are named too, since an agent that is
// silently missing from a table is the one a person wants to know of.

import type { AgentStatus } from '../monitor/status.ts';
import { askFirst } from './ask.ts';
import type { ExitCode } from './exit-code.ts';
import { type CommonFlags, loadResolved, shownPath } from './load.ts';
import {
  bytesText,
  count,
  durationText,
  print,
  programName,
  renderTable,
  say,
  styled,
} from './output.ts';
import { agentsQuery } from './query-examples.ts';

/** What `--json` prints. */
export interface ClusterStatus {
  readonly agents: readonly AgentStatus[];
  /** Configured agents, and members of the view, that did not answer. */
  readonly unreachable: readonly string[];
}

export async function status(
  file: string,
  flags: CommonFlags & { readonly json?: boolean },
): Promise<ExitCode> {
  const loaded = await loadResolved(file, flags, { allocate: false });
  if (!loaded.ok) return loaded.code;
  const { agents } = loaded.config.cluster;
  const answer = await askFirst(agents, 'status');
  if (!answer.ok) {
    say(answer.failures.join('\n'));
    const shown = shownPath(loaded.config);
    say(`no agent answers; what their files hold can still be asked:`);
    say(`  ${programName()} query ${shown} "${agentsQuery}"`);
    return 1;
  }
  const cluster = clusterStatus(
    answer.result,
    agents.map(({ id }) => id),
  );
  if (flags.json) await print(`${JSON.stringify(cluster)}\n`);
  else await print(`${statusText(cluster)}\n`);
  if (!flags.json && cluster.unreachable.length > 0) {
    say(`${styled('yellow', 'no answer from', process.stderr)} ${cluster.unreachable.join(', ')}`);
  }
  return 0;
}

/** @param result - as an agent answers `status` */
export function clusterStatus(result: unknown, configured: readonly string[]): ClusterStatus {
  const { agents, unreachable } = result as ClusterStatus;
  const heard = new Set(agents.map(({ id }) => id));
  const silent = new Set([...unreachable, ...configured].filter((id) => !heard.has(id)));
  const byId = (a: { id: string }, b: { id: string }) => a.id.localeCompare(b.id, 'en', numeric);
  return {
    agents: agents.toSorted(byId),
    unreachable: [...silent].sort((a, b) => a.localeCompare(b, 'en', numeric)),
  };
}

/** a2 before a10. */
const numeric = { numeric: true } as const;

export function statusText({ agents }: ClusterStatus): string {
  const right = 'right' as const;
  const rows = agents.map((agent) => [
    agent.id,
    stateOf(agent),
    String(agent.members.length),
    count(agent.hosts),
    count(agent.pages),
    count(agent.queued),
    count(agent.outbox),
    `${agent.openRequests}/${agent.threads}`,
    `${agent.pagesPerSecond.toFixed(1)}/s`,
    `${agent.loopDelayMs.toFixed(0)} ms`,
    bytesText(agent.rssBytes),
    durationText(agent.uptimeMs),
  ]);
  const sum = (of: (agent: AgentStatus) => number) => agents.reduce((s, a) => s + of(a), 0);
  const all = [
    'all',
    '',
    '',
    count(sum((a) => a.hosts)),
    count(sum((a) => a.pages)),
    count(sum((a) => a.queued)),
    count(sum((a) => a.outbox)),
    `${sum((a) => a.openRequests)}/${sum((a) => a.threads)}`,
    `${sum((a) => a.pagesPerSecond).toFixed(1)}/s`,
  ];
  return renderTable(
    [
      { title: 'agent' },
      { title: 'state' },
      { title: 'peers', align: right },
      { title: 'hosts', align: right },
      { title: 'pages', align: right },
      { title: 'queue', align: right },
      { title: 'outbox', align: right },
      { title: 'open', align: right },
      { title: 'rate', align: right },
      { title: 'lag', align: right },
      { title: 'memory', align: right },
      { title: 'up', align: right },
    ],
    agents.length > 1 ? [...rows, all] : rows,
  );
}

function stateOf({ course, joined, idle }: AgentStatus): string {
  if (course !== 'crawling') return course;
  if (!joined) return 'joining';
  return idle ? 'idle' : 'crawling';
}
