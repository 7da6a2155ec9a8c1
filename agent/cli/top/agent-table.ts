// The table of agents in `top`, with a graph of each agent's rate. Wide terminals get more columns
// and longer graphs; if the height does not suffice, the last line counts the agents left out.

import type { AgentStatus } from '../../monitor/agent-status.ts';
import { bytesText, count, cut, durationText, pad, printable } from '../common/output.ts';
import { stateOf } from '../status/status-command.ts';
import { sparkline } from './rate-history.ts';
import type { Line } from './screen-line.ts';
import type { TopFrame } from './top-frame.ts';

interface Column {
  readonly title: string;
  readonly align: 'left' | 'right';
  /** The cell of one agent, or of all. */
  readonly cell: (agents: readonly AgentStatus[]) => string;
  /** Only in a wide terminal. */
  readonly isWide?: true;
}

/** Columns of a terminal that has room for all columns of the table. */
export const WIDE = 120;
/** A graph has a column for each second of the last minute, or fewer. */
const GRAPH_CHARS = { max: 60, min: 6 };
const ID_CHARS_MAX = 16;

function sum(title: string, of: (agent: AgentStatus) => number, isWide?: true): Column {
  const cell = (agents: readonly AgentStatus[]) =>
    shortCount(agents.reduce((n, a) => n + of(a), 0));
  return { title, align: 'right', cell, ...(isWide && { isWide }) };
}

function worst(title: string, of: (agent: AgentStatus) => number, text: (n: number) => string) {
  const cell = (agents: readonly AgentStatus[]) => text(Math.max(...agents.map(of)));
  return { title, align: 'right', cell } as const;
}

const threadsOf = (agents: readonly AgentStatus[]) => {
  const [open, threads] = [agents.map((a) => a.openRequests), agents.map((a) => a.threads)];
  return `${add(open)}/${add(threads)}`;
};

/** Left of the graph, which belongs to the rate. */
const left: readonly Column[] = [
  sum('hosts', ({ hosts }) => hosts),
  sum('queue', ({ queued }) => queued),
  { title: 'open', align: 'right', cell: threadsOf, isWide: true },
  sum('pages', ({ pages }) => pages),
  {
    title: 'pages/s',
    align: 'right',
    cell: (agents) => add(agents.map((a) => a.pagesPerSecond)).toFixed(1),
  },
];

const right: readonly Column[] = [
  sum('lag', ({ copyLag }) => copyLag),
  sum('unsettled', ({ unsettled }) => unsettled, true),
  sum('outbox', ({ outbox }) => outbox, true),
  worst(
    'loop',
    ({ loopDelayMs }) => loopDelayMs,
    (ms) => `${ms.toFixed(0)} ms`,
  ),
  {
    title: 'memory',
    align: 'right',
    cell: (agents) => bytesText(add(agents.map(({ rssBytes }) => rssBytes))).replace(/\.\d/, ''),
  },
  { ...worst('up', ({ uptimeMs }) => uptimeMs, durationText), isWide: true },
];

/**
 * @param isShown - whether an agent is in the filter
 * @param rowsMax - lines that the table may have, at least 3
 */
export function agentTable(
  frame: TopFrame,
  columns: number,
  rowsMax: number,
  isShown: (id: string) => boolean,
): Line[] {
  const agents = frame.cluster.agents.filter(({ id }) => isShown(id));
  const silent = frame.cluster.unreachable.filter(isShown);
  const hasSum = agents.length > 1;
  const places = rowsMax - (hasSum ? 2 : 1);
  const total = agents.length + silent.length;
  const shown = total <= places ? total : Math.max(0, places - 1);
  // Agents that do not answer first: they are what an operator looks for.
  const silentShown = silent.slice(0, shown);
  const agentsShown = agents.slice(0, shown - silentShown.length);
  const isFitting = ({ isWide }: Column) => !isWide || columns >= WIDE;
  const [before, after] = [left.filter(isFitting), right.filter(isFitting)];
  const cellsOf = (of: readonly AgentStatus[], id: string, state: string) => [
    ...[cut(printable(id), ID_CHARS_MAX), state],
    ...[...before, ...after].map(({ cell }) => cell(of)),
  ];
  const body = [
    ...agentsShown.map((agent) => cellsOf([agent], agent.id, printable(stateOf(agent)))),
    ...silentShown.map((id) => [cut(printable(id), ID_CHARS_MAX), 'no answer']),
    ...(hasSum ? [cellsOf(agents, 'all', '')] : []),
  ];
  const titles = ['agent', 'state', ...[...before, ...after].map(({ title }) => title)];
  const widths = titles.map((title, k) => {
    return Math.max(title.length, ...body.map((cells) => cells[k]?.length ?? 0));
  });
  const graphAt = 2 + before.length;
  const room = columns - add(widths) - 2 * (widths.length - 1) - 2;
  const graphChars = room < GRAPH_CHARS.min ? 0 : Math.min(room, GRAPH_CHARS.max);
  const text = (cells: readonly string[], graph: string) => {
    const padded = widths.map((width, k) => pad(cells[k] ?? '', width, k < 2 ? 'left' : 'right'));
    const parts =
      graphChars === 0 ? padded : padded.toSpliced(graphAt, 0, graph.padEnd(graphChars));
    return parts.join('  ').trimEnd();
  };
  const graphs = new Map(
    agentsShown.map(({ id }) => [id, frame.rates(id, Math.max(1, graphChars))]),
  );
  const max = Math.max(0, ...[...graphs.values()].flat().map((rate) => rate ?? 0));
  const graphOf = (id: string) => sparkline(graphs.get(id) ?? [], max);
  const rows = body.map((cells, k): Line => {
    const agent = agentsShown[k];
    const isSilent = k >= agentsShown.length && k < agentsShown.length + silentShown.length;
    const style = isSilent ? 'red' : agent?.paused ? 'yellow' : undefined;
    return { text: text(cells, agent ? graphOf(agent.id) : ''), style };
  });
  const more = total - shown;
  const rest: Line[] = more === 0 ? [] : [{ text: `${count(more)} more: / filters`, style: 'dim' }];
  const at = hasSum ? rows.length - 1 : rows.length;
  return [{ text: text(titles, ''), style: 'dim' }, ...rows.toSpliced(at, 0, ...rest)];
}

function add(numbers: readonly number[]): number {
  return numbers.reduce((total, n) => total + n, 0);
}

/** @returns `12,345`, `123k`, `12.3M` */
function shortCount(value: number): string {
  if (value < 100_000) return count(value);
  if (value < 1_000_000) return `${(value / 1000).toFixed(0)}k`;
  return `${(value / 1_000_000).toFixed(value < 100_000_000 ? 1 : 0)}M`;
}
