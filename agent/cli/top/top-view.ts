// Draws a frame of `top` as lines of text, for a terminal of any size. The agents come first, and
// what is left of the height goes to problems and events; a wide terminal has them side by side.

import { hostOf } from '../common/named-host.ts';
import { count, cut, durationText, printable } from '../common/output.ts';
import { heldUpBy } from '../status/progress-line.ts';
import { recentLines } from '../status/status-events.ts';
import { agentTable, WIDE } from './agent-table.ts';
import { sparkline } from './rate-history.ts';
import { cutLine, type Line } from './screen-line.ts';
import type { TopFrame } from './top-frame.ts';
import type { TopChoice } from './top-keys.ts';

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** What differs between the commands that show this view. */
export interface Caption {
  readonly title: string;
  /** The keys, for the last line. */
  readonly keys: string;
  /** What `q` does. */
  readonly quits: string;
}

/** What is drawn beside a frame. */
export interface Shown {
  readonly choice: TopChoice;
  readonly size: Size;
  /** The result of the last key; '': none. */
  readonly notice: string;
  readonly caption: Caption;
}

export const KEYS = 'h help  p pause or resume  / filter  o dashboard';
export const TOP: Caption = {
  title: 'ubiring top',
  keys: `${KEYS}  q quit`,
  quits: 'quits; the crawl goes on',
};

const helpOf = ({ quits }: Caption) => [
  'h       this help',
  'p       stops requests of all agents, or resumes them',
  '/       shows agents, problems and events with a text; of a host, its owner',
  'Esc     shows all again',
  'o       shows the address of the dashboard',
  `q       ${quits}`,
  '',
  'pages/s over the last ten seconds; the graph shows the last minute',
  'lag     hosts whose copies are behind',
  'loop    delay of the event loop; an agent that is late for long is removed',
  'errors  failed requests since the agents started, by error or status',
];
/** The longest graph of all agents: a column for each second. */
const GRAPH_CHARS_MAX = 60;
const GAP = '  ';

/** @returns at most `size.rows` lines */
export function viewLines(frame: TopFrame, shown: Shown): Line[] {
  const { choice, size, caption } = shown;
  const head = headOf(frame, size.columns, caption);
  const room = Math.max(0, size.rows - head.length - 1);
  const body = choice.isHelp ? helpOf(caption).map(plain) : bodyOf(frame, choice, size, room);
  const lines = [...head, ...body].slice(0, size.rows - 1);
  return [...lines, footOf(frame, shown)].map((line) => cutLine(line, size.columns));
}

const EMPTY: Line = { text: '' };

function plain(text: string): Line {
  return { text };
}

function headOf(frame: TopFrame, columns: number, { title }: Caption): Line[] {
  const { alive, total, hosts, hostsWithQueue, pages, openRequests } = frame.progress;
  const queued = frame.cluster.agents.reduce((sum, agent) => sum + agent.queued, 0);
  const upMs = Math.max(0, ...frame.cluster.agents.map(({ uptimeMs }) => uptimeMs));
  const name = `${title}  ${printable(frame.crawl)}`;
  const state = `${alive} of ${total} agents, up ${durationText(upMs)}`;
  const facts = [
    `pages ${count(pages)}`,
    `queue ${count(queued)}`,
    `hosts ${count(hosts)}, ${count(hostsWithQueue)} with work`,
    `open ${count(openRequests)}`,
    ...leftOf(frame),
  ];
  const rate = `pages/s ${frame.progress.pagesPerSecond.toFixed(1)}`;
  const rates = frame.rates('', Math.max(1, Math.min(GRAPH_CHARS_MAX, columns - 20)));
  const most = Math.max(0, ...rates.map((value) => value ?? 0));
  return [
    { text: sides(name, state, columns), style: 'bold' },
    { text: facts.join('   ') },
    { text: `${rate.padEnd(14)}${GAP}${sparkline(rates, most)}`.trimEnd() },
    EMPTY,
  ];
}

function leftOf({ progress }: TopFrame): string[] {
  const { paused, etaMs, shared } = progress;
  if (paused) return ['paused'];
  // A Redis that does not answer is among the problems.
  if (shared && shared.awaited.length > 0) return heldUpBy(progress).slice(0, 1).map(printable);
  return etaMs === null ? [] : [`left about ${durationText(etaMs)}`];
}

function footOf(frame: TopFrame, { choice, notice, caption }: Shown): Line {
  const filter = printable(choice.filter);
  if (choice.isTyping) return { text: `filter: ${filter}▏ Enter keeps it, Esc shows all` };
  if (notice !== '') return { text: printable(notice), style: 'bold' };
  if (filter === '') return { text: caption.keys, style: 'dim' };
  const host = hostIn(frame, choice);
  const owner = host === null ? '' : `; ${frame.ownerOf(host) ?? 'no agent'} owns ${host}`;
  const isAgent = idsOf(frame).some((id) => contains(id, choice.filter));
  const found = host === null && !isAgent ? '; no agent has it in its name' : owner;
  return { text: `filter: ${filter}${printable(found)}; Esc shows all` };
}

/** The host that the filter names; null if it is a part of an agent's identifier or no host. */
function hostIn(frame: TopFrame, { filter }: TopChoice): string | null {
  if (idsOf(frame).some((id) => contains(id, filter)) || !/[.:]/.test(filter)) return null;
  return hostOf(filter);
}

function idsOf({ cluster }: TopFrame): string[] {
  return [...cluster.agents.map(({ id }) => id), ...cluster.unreachable];
}

function contains(text: string, filter: string): boolean {
  return text.toLowerCase().includes(filter.toLowerCase());
}

/** @param room - lines */
function bodyOf(frame: TopFrame, choice: TopChoice, { columns }: Size, room: number): Line[] {
  const host = hostIn(frame, choice);
  const owner = host === null ? undefined : frame.ownerOf(host);
  const isShown = (text: string) => contains(text, choice.filter);
  const isAgentShown = (id: string) => (owner === undefined ? isShown(id) : id === owner);
  const isWide = columns >= WIDE;
  const width = isWide ? Math.floor((columns - GAP.length) / 2) : columns;
  const problems = problemLines(frame, isShown, width);
  const events = eventLines(frame, isShown);
  const last = [EMPTY, { text: failuresText(frame) }];
  const least = { problems: Math.min(problems.length, 5), events: Math.min(events.length, 4) };
  const belowMin = isWide
    ? 1 + Math.max(least.problems, least.events)
    : 2 + least.problems + least.events;
  const rows = Math.max(Math.ceil(room / 2), room - belowMin - last.length);
  const table = agentTable(frame, columns, rows, isAgentShown);
  const below = room - table.length - last.length;
  if (isWide) {
    const pairs = beside(problems, events, width);
    return [...table, ...[EMPTY, ...pairs].slice(0, Math.max(0, below)), ...last];
  }
  const forProblems = below < belowMin ? problems.length : below - 2 - least.events;
  const blocks = [EMPTY, ...problems.slice(0, forProblems), EMPTY, ...events];
  return [...table, ...blocks.slice(0, Math.max(0, below)), ...last];
}

/** The newest first. */
function eventLines({ cluster }: TopFrame, isShown: (text: string) => boolean): Line[] {
  const lines = recentLines(cluster.agents, isShown).toReversed();
  if (lines.length === 0) return [{ text: 'events  none', style: 'dim' }];
  return [{ text: 'events', style: 'dim' }, ...lines.map(plain)];
}

function problemLines(
  { problems }: TopFrame,
  isShown: (text: string) => boolean,
  width: number,
): Line[] {
  const shown = problems.filter(({ text, remedy }) => isShown(`${text} ${remedy}`));
  if (shown.length === 0) {
    const others = problems.length > 0 ? `; ${problems.length} without this text` : '';
    return [{ text: `problems  none${others}`, style: 'dim' }];
  }
  return [
    { text: `problems  ${shown.length}`, style: 'dim' },
    ...shown.flatMap(({ text, remedy }): Line[] => [
      ...wrapped(text, GAP, width).map((line): Line => ({ text: line, style: 'yellow' })),
      ...wrapped(remedy, `${GAP}${GAP}`, width).map(plain),
    ]),
  ];
}

/** Lines of at most `width` characters, if no word is longer, each after the indentation. */
function wrapped(text: string, indent: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    const longer = last === undefined ? `${indent}${word}` : `${last} ${word}`;
    if (last === undefined || longer.length > width) lines.push(`${indent}${word}`);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

function failuresText({ failures }: TopFrame): string {
  const list = failures.map(([failure, n]) => `${printable(failure)} ${count(n)}`);
  return `errors  ${list.length === 0 ? 'none' : list.join('  ')}`;
}

/** The lines of both in one column each. */
function beside(left: readonly Line[], right: readonly Line[], width: number): Line[] {
  const length = Math.max(left.length, right.length);
  return Array.from({ length }, (_, k) => {
    const text = cut(left[k]?.text ?? '', width).padEnd(width);
    return { text, style: left[k]?.style, beside: `${GAP}${right[k]?.text ?? ''}` };
  });
}

/** Two texts at both ends of a line. */
function sides(left: string, right: string, columns: number): string {
  const gap = Math.max(2, columns - left.length - right.length);
  return `${left}${' '.repeat(gap)}${right}`;
}
