// The last events of the cluster as sentences, for `status`: each agent tells what it saw, and where
// several saw the same they share a line. Pure.

import type { AgentStatus } from '../../monitor/agent-status.ts';
import { bytesText, count, printable } from '../common/output.ts';

type Recent = AgentStatus['recent'][number];

/** Lines, newest last. */
const linesMax = 8;
/** Within so many milliseconds the same said by two agents is one event. */
const sameMsMax = 5000;

interface Line {
  ageMs: number;
  readonly agents: string[];
  readonly text: string;
}

/** @returns lines such as `  12 s ago  a1, a3  took over 4 hosts of a2 within 5.1 s` */
export function recentLines(agents: readonly Pick<AgentStatus, 'id' | 'recent'>[]): string[] {
  const lines: Line[] = [];
  const all = agents.flatMap(({ id, recent }) => recent.map((event) => ({ id, event })));
  for (const { id, event } of all.sort((a, b) => b.event.ageMs - a.event.ageMs)) {
    const text = sentence(id, event);
    const same = lines.find((line) => {
      return (
        line.text === text && line.ageMs - event.ageMs <= sameMsMax && !line.agents.includes(id)
      );
    });
    if (same) same.agents.push(id);
    else lines.push({ ageMs: event.ageMs, agents: [id], text });
  }
  const shown = lines.slice(-linesMax).map(({ ageMs, agents: ids, text }) => ({
    age: `${shortMs(ageMs)} ago`,
    who: ids.sort().join(', '),
    text,
  }));
  const ageWidth = Math.max(0, ...shown.map(({ age }) => age.length));
  const whoWidth = Math.max(0, ...shown.map(({ who }) => who.length));
  return shown.map(({ age, who, text }) => {
    return printable(`  ${age.padStart(ageWidth)}  ${who.padEnd(whoWidth)}  ${text}`);
  });
}

/** What the event says, without numbers in which two witnesses of one thing differ. */
function sentence(id: string, { kind, detail }: Recent): string {
  const of = (key: string) => String(detail[key] ?? '?');
  const ms = (key: string) => shortMs(Number(detail[key] ?? 0));
  const hosts = Number(detail.hosts ?? 0) === 1 ? '1 host' : `${count(Number(detail.hosts))} hosts`;
  switch (kind) {
    case 'join':
      if (detail.agent !== id) return `met ${of('agent')}${awayText(detail)}`;
      return `joined ${of('members')} agents in ${ms('tookMs')}${awayText(detail)}`;
    case 'rejoin':
      return `${detail.why === 'stalled' ? 'stood still' : 'was given up'}: joins anew`;
    case 'suspect':
      return `gave ${of('agent')} up after ${seconds(detail.silentMs)} of silence`;
    case 'remove':
      return `met a later life of ${of('agent')}`;
    case 'takeover':
      if (detail.hosts === undefined) {
        return `first request at a host of ${of('from')} ${ms('firstRequestMs')} after its last news`;
      }
      return `took over ${hosts} of ${of('from')}, ${ms('tookMs')} after its last news`;
    case 'handoff':
      return `handed ${hosts} over to ${of('to')} in ${ms('tookMs')}`;
    case 'leave':
      return detail.agent === id ? `left in ${ms('tookMs')}` : `saw ${of('agent')} leave`;
    case 'abort':
      return `gave up ${of('requests')} open ${detail.requests === 1 ? 'request' : 'requests'}: ${of('why')}`;
    case 'trap':
      return `slowed ${of('host')}: ${of('stale')} pages with nothing new`;
    case 'robots':
      return `robots.txt of ${of('origin')} has ${of('wildcards')} rules with wildcards: for long URLs not all are consulted`;
    case 'wal':
      return `has a write-ahead log of ${bytesText(Number(detail.bytes ?? 0))}: end the program that reads its state.sqlite`;
    case 'refused':
      return `refused ${of('claim')} of ${of('agent')}: ${of('why')}`;
    case 'order':
      return orderText(detail);
    case 'complete':
      return `complete after ${ms('tookMs')}`;
  }
}

function orderText({ order, host, value }: Recent['detail']): string {
  const off = value === null;
  if (order === 'pause') return off ? 'was told to go on' : 'was told to pause';
  if (order === 'block') return `was told to ${off ? 'unblock' : 'block'} ${host}`;
  return `was told the delay of ${host}: ${off ? 'as configured' : shortMs(Number(value))}`;
}

function awayText(detail: Recent['detail']): string {
  return typeof detail.awayMs === 'number' ? `, after ${shortMs(detail.awayMs)} away` : '';
}

/** Whole seconds, by which witnesses agree. */
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
