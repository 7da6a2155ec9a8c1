// Events as sentences, for `status`, `top` and the dashboard. If several agents report the same
// event, they share a line of `status`.

import type { AgentStatus } from '../../monitor/agent-status.ts';
import { bytesText, count, printable } from '../common/output.ts';

type Recent = AgentStatus['recent'][number];

/** Number of lines, so that the output stays on one screen. */
const linesMax = 8;
/** Agents that a line names, so that its text stays on the line. */
const agentsMax = 3;
/** Equal reports of different agents count as one event within this time. */
const sameMsMax = 5000;

interface Line {
  ageMs: number;
  readonly agents: string[];
  readonly text: string;
}

/** Each agent has its own: the counts of several agents add up. */
const owns: ReadonlySet<string> = new Set(['takeover', 'handoff']);

/**
 * @param isShown - whether a line with this text is wanted
 * @returns lines such as `  12 s ago  a1, a3  removed a2 after 5 s without news`, newest last
 */
export function recentLines(
  agents: readonly Pick<AgentStatus, 'id' | 'recent'>[],
  isShown: (text: string) => boolean = () => true,
): string[] {
  const lines: Line[] = [];
  const all = agents.flatMap(({ id, recent }) => recent.map((event) => ({ id, event })));
  for (const { id, event } of all.sort((a, b) => b.event.ageMs - a.event.ageMs)) {
    const text = eventText(id, event);
    const same = lines.find((line) => {
      const isLate = line.ageMs - event.ageMs > sameMsMax;
      return line.text === text && !isLate && !line.agents.includes(id) && !owns.has(event.kind);
    });
    if (same) same.agents.push(id);
    else lines.push({ ageMs: event.ageMs, agents: [id], text });
  }
  const wanted = lines.filter((line) => isShown(`${line.agents.join(', ')} ${line.text}`));
  const shown = wanted.slice(-linesMax).map(({ ageMs, agents: ids, text }) => ({
    age: `${shortMs(ageMs)} ago`,
    who: whoText(ids.sort()),
    text,
  }));
  const ageWidth = Math.max(0, ...shown.map(({ age }) => age.length));
  const whoWidth = Math.max(0, ...shown.map(({ who }) => who.length));
  return shown.map(({ age, who, text }) => {
    return printable(`  ${age.padStart(ageWidth)}  ${who.padEnd(whoWidth)}  ${text}`);
  });
}

function whoText(ids: readonly string[]): string {
  if (ids.length <= agentsMax) return ids.join(', ');
  return `${ids.slice(0, agentsMax - 1).join(', ')} and ${ids.length - agentsMax + 1} others`;
}

/**
 * Omits numbers that differ between the agents that report the same event. An event of another
 * version may be of another kind.
 */
export function eventText(id: string, { kind, detail }: Pick<Recent, 'kind' | 'detail'>): string {
  const of = (key: string) => String(detail[key] ?? '?');
  const ms = (key: string) => shortMs(Number(detail[key] ?? 0));
  const hosts = Number(detail.hosts ?? 0) === 1 ? '1 host' : `${count(Number(detail.hosts))} hosts`;
  switch (kind) {
    case 'join':
      if (detail.agent !== id) return `met ${of('agent')}${awayText(detail)}`;
      return `joined ${of('members')} agents in ${ms('tookMs')}${awayText(detail)}`;
    case 'rejoin':
      if (detail.why === 'capacity') return 'rejoins with its new capacity';
      return `was ${of('why')}: rejoins`;
    case 'suspect':
      return `removed ${of('agent')} after ${seconds(detail.silentMs)} without news`;
    case 'remove':
      return `met a later incarnation of ${of('agent')}`;
    case 'takeover':
      if (detail.hosts === undefined) {
        return `first request at a host of ${of('from')}${lostText(detail, ms('firstRequestMs'))}`;
      }
      return `took over ${hosts} of ${of('from')}${lostText(detail, ms('tookMs'))}`;
    case 'handoff':
      return `handed its rows of ${hosts}, copies included, over to ${of('to')} in ${ms('tookMs')}`;
    case 'leave':
      return detail.agent === id ? `left in ${ms('tookMs')}` : `saw ${of('agent')} leave`;
    case 'abort':
      return `aborted ${of('requests')} open ${detail.requests === 1 ? 'request' : 'requests'}: ${abortText(of('why'))}`;
    case 'trap':
      return `slowed ${of('host')}: ${of('stale')} pages with nothing new`;
    case 'robots':
      return `robots.txt of ${of('origin')} has ${of('wildcards')} rules with wildcards: long URLs are not checked against all`;
    case 'wal':
      return `has a write-ahead log of ${bytesText(Number(detail.bytes ?? 0))}: end the program that reads its state.sqlite`;
    case 'network':
      if (detail.tookMs === undefined) return of('why');
      return `network ${of('network')}: its Redis failed for ${seconds(detail.tookMs)}`;
    case 'refused':
      return `refused ${of('claim')} of ${of('agent')}: ${of('why')}`;
    case 'order':
      return directiveText(detail);
    case 'complete':
      return `complete after ${ms('tookMs')}`;
    default:
      return JSON.stringify(detail);
  }
}

/** Why another agent has lost its hosts. An event of an earlier version does not say it. */
function lostText({ why = 'suspect' }: Recent['detail'], after: string): string {
  if (why === 'leave') return ', which leaves';
  if (why === 'remove') return ', which rejoins';
  if (why === 'part') return ', no neighbour any more';
  return `, ${after} after its last news`;
}

/** The glossary explains the lease; here it matters that nothing is lost. */
function abortText(why: string): string {
  return why === 'the lease lapsed' ? `${why} (echoes were late); they are repeated` : why;
}

/** Without a value, the directive was revoked. */
function directiveText({ order, host, value }: Recent['detail']): string {
  const off = value === null;
  if (order === 'pause') return off ? 'resumed' : 'paused';
  if (order === 'block') return `${off ? 'unblocked' : 'blocked'} ${host}`;
  if (order === 'drain') return `${off ? 'ended the drain of' : 'drains'} ${host}`;
  if (order === 'refresh') return `began round ${value}`;
  const whose = order === 'threads' && host === '*' ? 'all agents' : host;
  if (off) return `uses the configured ${order} for ${whose}`;
  if (order === 'delay') return `uses a delay of ${shortMs(Number(value))} for ${whose}`;
  return `uses ${order === 'threads' ? `${value} threads` : `the ${order} ${value}`} for ${whose}`;
}

function awayText(detail: Recent['detail']): string {
  return typeof detail.awayMs === 'number' ? `, after ${shortMs(detail.awayMs)} away` : '';
}

/** Whole seconds, so that reports of the same event have the same text. */
function seconds(ms: unknown): string {
  return `${Math.round(Number(ms ?? 0) / 1000)} s`;
}

/** @returns `170 ms`, `5.1 s`, `3 min`, `2 h` */
function shortMs(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;
}
