// The end of a launch: a table of what each agent did, as its file tells, and what to ask next.

import type { AgentProcess } from './agent-process.ts';
import { type Ending, endingText } from './endings.ts';
import { messageOf } from './exit-code.ts';
import { type ResolvedConfig, shownPath } from './load.ts';
import { bytesText, count, durationText, programName, renderTable } from './output.ts';
import { largestHostsQuery, statusesQuery } from './query-examples.ts';
import { type AgentTotals, crawlTotals } from './query-totals.ts';

/** What a line of the table shows. */
type Totals = Omit<AgentTotals, 'end'>;

/** @param tookMs - from the start of the agents to the end of the last */
export function launchSummary(
  config: ResolvedConfig,
  agents: readonly AgentProcess[],
  tookMs: number,
): string {
  let totals: readonly AgentTotals[];
  try {
    totals = crawlTotals(config.agent.dataDir, config);
  } catch (error) {
    return `the state files cannot be summed up: ${messageOf(error)}\n`;
  }
  const ends = new Map(agents.map(({ id, ending }) => [id, ending]));
  // Agents of other machines have no file here; of those started otherwise, also after this launch
  // had lost them, the file tells the end.
  const ids = [...new Set([...ends.keys(), ...totals.map(({ agent }) => agent)])];
  const rows = ids.map((id) => {
    const found = totals.find(({ agent }) => agent === id);
    return rowOf(id, found ?? null, endOf(ends.get(id) ?? null, found?.end ?? null));
  });
  const sum = (of: (entry: AgentTotals) => number) => totals.reduce((s, t) => s + of(t), 0);
  const all: Totals = {
    agent: 'all',
    pages: sum(({ pages }) => pages),
    failed: sum(({ failed }) => failed),
    hosts: sum(({ hosts }) => hosts),
    bytes: sum(({ bytes }) => bytes),
  };
  const right = 'right' as const;
  const table = renderTable(
    [
      { title: 'agent' },
      { title: 'pages', align: right },
      { title: 'failed', align: right },
      { title: 'hosts', align: right },
      { title: 'bytes', align: right },
      { title: 'end' },
    ],
    [...rows, rowOf('all', all, `after ${durationText(tookMs)}`)],
  );
  return `\n${table}\n\n`;
}

/** @param ofFile - how the agent's last life ended, which a later one than the launch's may be */
function endOf(ending: Ending | null, ofFile: AgentTotals['end']): string {
  if (ending === null) return ofFile ?? 'not of this launch';
  return ending.kind === 'killed' && ofFile !== null ? ofFile : endingText(ending);
}

function rowOf(id: string, totals: Totals | null, end: string): string[] {
  if (totals === null) return [id, '-', '-', '-', '-', end];
  const { pages, failed, hosts, bytes } = totals;
  return [id, count(pages), count(failed), count(hosts), bytesText(bytes), end];
}

/** Commands that show what was crawled. */
export function nextSteps(config: ResolvedConfig): string {
  const ask = `  ${programName()} query ${shownPath(config)}${dataFlag(config)}`;
  return [
    'to see what was crawled:',
    `${ask} "${statusesQuery}"`,
    `${ask} "${largestHostsQuery}"`,
  ].join('\n');
}

/** Named where the command line named it, which the config does not tell. */
function dataFlag({ agent }: ResolvedConfig): string {
  const given = process.argv.findIndex((word) => word === '--data' || word.startsWith('--data='));
  return given < 0 ? '' : ` --data ${agent.dataDir}`;
}
