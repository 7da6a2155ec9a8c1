// The output of `ubiring audit` for people: the sum, how many agents have the hosts, and each
// problem with its file. The JSON output is the `Audit` object itself.

import { count, printable } from '../common/output.ts';
import type { EventHistory } from '../state-files/query-members.ts';
import type { Finding, Findings } from './audit-tally.ts';

/** The output of `--json`. */
export interface Audit {
  /** Whether `known` is the sum of the classes and there are no problems. */
  readonly ok: boolean;
  /** Whether the crawl is complete according to the agents last in view. */
  readonly complete: boolean;
  /** Distinct URLs in all files. */
  readonly known: number;
  readonly done: number;
  readonly queued: number;
  /** Part of `queued`: so far only in an outbox. */
  readonly onTheWay: number;
  /** URLs by reason. */
  readonly skipped: Readonly<Record<string, number>>;
  readonly skippedTotal: number;
  readonly failed: number;
  /** Part of `done`: the last response was 429 or 5xx. */
  readonly serverErrors: number;
  /** Hosts whose queue was dropped, or whose URLs failed without any response. */
  readonly hostsUnreachable: number;
  /** Part of `done` and `failed`: not all links are at their owners and backups yet. */
  readonly unsettled: number;
  readonly hosts: number;
  readonly copies: {
    /** Number of agents that should have each host: the owner and the backups. */
    readonly wanted: number;
    readonly hostsWithFew: number;
    /** URLs whose state in a copy is ahead of or behind that of the owner. */
    readonly ahead: number;
    readonly behind: number;
  };
  readonly agents: readonly {
    readonly agent: string;
    readonly inView: boolean;
    readonly end: EventHistory['end'];
    readonly file: string;
  }[];
  /** By agent, the tables that were not checked for damage within the time limit. */
  readonly unchecked: Readonly<Record<string, readonly string[]>>;
  /** Why it is not `ok`. */
  readonly problems: Findings;
  readonly warnings: Findings;
}

/** Maximum number of printed findings; the others are only counted. The JSON has more of them. */
const shownMax = 20;
const warningsShownMax = 5;

export function auditText(audit: Audit): string {
  const { problems } = audit;
  return [
    ...crawlLines(audit),
    '',
    ...sumLines(audit),
    '',
    ...copyLines(audit),
    ...listLines('warnings', shownWarnings(audit), warningsShownMax, audit),
    ...listLines('problems', problems, shownMax, audit),
    ...uncheckedLines(audit),
    '',
    verdictOf(audit),
    '',
  ].join('\n');
}

function verdictOf(audit: Audit): string {
  if (audit.ok) return 'the numbers agree';
  const problems = audit.problems.count > 0 ? [`problems: ${count(audit.problems.count)}`] : [];
  return [...(inNoClass(audit) === 0 ? [] : ['the numbers do NOT agree']), ...problems].join('; ');
}

function inNoClass({ known, done, queued, skippedTotal, failed }: Audit): number {
  return known - done - queued - skippedTotal - failed;
}

function crawlLines({ agents, complete }: Audit): string[] {
  const names = (inView: boolean) =>
    agents.filter((entry) => entry.inView === inView).map(({ agent }) => agent);
  const others = names(false);
  const also = others.length > 0 ? `; not in view: ${others.join(', ')}` : '';
  return [
    `the crawl is ${complete ? '' : 'not '}complete; in view: ${names(true).join(', ')}${also}`,
  ];
}

function sumLines(audit: Audit): string[] {
  const { known, done, queued, onTheWay, skipped, skippedTotal, failed } = audit;
  const reasons = Object.entries(skipped).map(([reason, urls]) => `${reason} ${count(urls)}`);
  const rows: [string, number, string][] = [
    ['known', known, ''],
    ['  = done', done, doneNote(audit)],
    ['  + queued', queued, onTheWay > 0 ? `${count(onTheWay)} of them in outboxes` : ''],
    ['  + skipped', skippedTotal, reasons.join(', ')],
    ['  + failed', failed, failedNote(audit)],
  ];
  const rest = inNoClass(audit);
  if (rest !== 0) rows.push(['  + in no class', rest, '']);
  const width = Math.max(...rows.map(([, value]) => count(value).length));
  return rows.map(([title, value, note]) => {
    return `${title.padEnd(16)}${count(value).padStart(width)}  ${note}`.trimEnd();
  });
}

function doneNote({ serverErrors, unsettled }: Audit): string {
  const notes: string[] = [];
  if (serverErrors > 0) notes.push(`${count(serverErrors)} with 429 or 5xx`);
  if (unsettled > 0) notes.push(`${count(unsettled)} done or failed, not settled`);
  return notes.join(', ');
}

function failedNote({ hostsUnreachable }: Audit): string {
  if (hostsUnreachable === 0) return '';
  return `${count(hostsUnreachable)} ${hostsUnreachable === 1 ? 'host' : 'hosts'} unreachable`;
}

function copyLines({ hosts, copies, complete }: Audit): string[] {
  const { wanted, hostsWithFew, ahead, behind } = copies;
  const at = `complete at ${wanted === 1 ? '1 agent' : `${wanted} agents`}`;
  const whole = hosts === 1 ? `1 host, ${at}` : `${count(hosts)} hosts, each ${at}`;
  if (hostsWithFew === 0 && ahead === 0) return [whole];
  const part =
    hosts === 1
      ? `1 host, ${hostsWithFew === 0 ? '' : 'not '}${at}`
      : `${count(hosts)} hosts, ${count(hosts - hostsWithFew)} of them ${at}`;
  const late =
    behind === 1 ? '1 URL behind its owner' : `${count(behind)} URLs behind their owners`;
  const moving = complete ? '' : '; copies follow their owners while the crawl runs';
  return [`${part}${moving}`, `copies: ${late}, ${count(ahead)} ahead`];
}

function uncheckedLines({ unchecked }: Audit): string[] {
  const left = Object.entries(unchecked);
  if (left.length === 0) return [];
  const lines = left.map(([agent, tables]) => printable(`  ${agent}: ${tables.join(', ')}`));
  return ['', 'tables not checked for damage within the time limit:', ...lines];
}

/** Until the crawl is complete, omits hosts that lack copies: normal then, and counted above. */
function shownWarnings({ warnings, complete, copies }: Audit): Findings {
  if (complete) return warnings;
  const list = warnings.list.filter(({ kind }) => kind !== 'few-copies');
  return { count: warnings.count - copies.hostsWithFew, list };
}

function listLines(title: string, found: Findings, max: number, audit: Audit): string[] {
  if (found.count === 0) return [];
  const shown = found.list.slice(0, max).map((finding) => `  ${findingText(finding, audit)}`);
  const more = found.count - shown.length;
  const rest = more > 0 ? [`  and ${count(more)} more`] : [];
  return ['', `${title}:`, ...shown, ...rest];
}

function findingText({ agent, of, says }: Finding, { agents }: Audit): string {
  const file = agents.find((entry) => entry.agent === agent)?.file;
  const at = file === undefined ? '' : `${file}: `;
  return printable(`${at}${of}${of === '' ? '' : ': '}${says}`);
}
