// What `ubiring audit` prints for people: the account as one sum, how many agents have what, and
// each thing that is wrong with the file that it is in. Pure; the JSON is the object itself.

import { count, printable } from '../common/output.ts';
import type { Course } from '../state-files/query-owners.ts';
import type { Finding } from './audit-tally.ts';

/** What `--json` prints. */
export interface Audit {
  /** Known is the sum of the classes, and nothing is wrong. */
  readonly ok: boolean;
  /** By the word of the agents last in view. */
  readonly complete: boolean;
  /** URLs that any file knows, each once. */
  readonly known: number;
  readonly done: number;
  readonly queued: number;
  /** Part of `queued`: in an outbox, and not in any table yet. */
  readonly onTheWay: number;
  /** By reason. */
  readonly skipped: Readonly<Record<string, number>>;
  readonly skippedTotal: number;
  readonly failed: number;
  /** Part of `done`: the last answer was 429 or 5xx. */
  readonly serverErrors: number;
  /** Hosts that were given up, or of which URLs failed and none got a response. */
  readonly hostsUnreachable: number;
  /** Part of `done` and `failed`: not all links are known to be safe yet. */
  readonly unsettled: number;
  readonly hosts: number;
  readonly copies: {
    /** Agents that should have each host: the owner and its backups. */
    readonly wanted: number;
    readonly hostsWithFew: number;
    /** URLs of which a copy is further than the owner, or less far. */
    readonly ahead: number;
    readonly behind: number;
  };
  readonly agents: readonly {
    readonly agent: string;
    readonly inView: boolean;
    readonly end: Course['end'];
    readonly file: string;
  }[];
  /** By agent, the tables that were not checked for damage, because the time for it was over. */
  readonly unchecked: Readonly<Record<string, readonly string[]>>;
  /** Why it is not `ok`; the first hundred. */
  readonly problems: { readonly count: number; readonly list: readonly Finding[] };
  readonly warnings: { readonly count: number; readonly list: readonly Finding[] };
}

/** Findings that are printed; the rest are counted, and the first hundred are in the JSON. */
const shownMax = 20;
const warningsShownMax = 5;

export function auditText(audit: Audit): string {
  const { problems } = audit;
  const verdict = audit.ok ? 'it adds up' : 'it does NOT add up';
  return [
    ...standLines(audit),
    '',
    ...sumLines(audit),
    '',
    ...copyLines(audit),
    ...listLines('worth knowing', worthKnowing(audit), warningsShownMax, audit),
    ...listLines('wrong', problems, shownMax, audit),
    ...uncheckedLines(audit),
    '',
    `${verdict}${problems.count > 0 ? `: ${count(problems.count)} things are wrong` : ''}`,
    '',
  ].join('\n');
}

function standLines({ agents, complete }: Audit): string[] {
  const names = (inView: boolean) =>
    agents.filter((entry) => entry.inView === inView).map(({ agent }) => agent);
  const gone = names(false);
  const also = gone.length > 0 ? `; no more: ${gone.join(', ')}` : '';
  const stand = complete ? 'the crawl is complete' : 'the crawl is not complete';
  return [`${stand}; in view: ${names(true).join(', ')}${also}`];
}

function sumLines(audit: Audit): string[] {
  const { known, done, queued, onTheWay, skipped, skippedTotal, failed } = audit;
  const reasons = Object.entries(skipped).map(([reason, urls]) => `${reason} ${count(urls)}`);
  const rows: [string, number, string][] = [
    ['known', known, ''],
    ['  = done', done, doneNote(audit)],
    ['  + queued', queued, onTheWay > 0 ? `${count(onTheWay)} of them on their way` : ''],
    ['  + skipped', skippedTotal, reasons.join(', ')],
    ['  + failed', failed, failedNote(audit)],
  ];
  const rest = known - done - queued - skippedTotal - failed;
  if (rest !== 0) rows.push(['  + in no class', rest, '']);
  const width = Math.max(...rows.map(([, value]) => count(value).length));
  return rows.map(([title, value, note]) => {
    return `${title.padEnd(16)}${count(value).padStart(width)}  ${note}`.trimEnd();
  });
}

function doneNote({ serverErrors, unsettled }: Audit): string {
  const notes: string[] = [];
  if (serverErrors > 0) notes.push(`${count(serverErrors)} with 429 or 5xx`);
  if (unsettled > 0) notes.push(`${count(unsettled)} of these and of failed unsettled`);
  return notes.join(', ');
}

function failedNote({ hostsUnreachable }: Audit): string {
  if (hostsUnreachable === 0) return '';
  return `${count(hostsUnreachable)} ${hostsUnreachable === 1 ? 'host' : 'hosts'} unreachable`;
}

function copyLines({ hosts, copies, complete }: Audit): string[] {
  const { wanted, hostsWithFew, ahead, behind } = copies;
  const agents = wanted === 1 ? '1 agent' : `${wanted} agents`;
  if (hostsWithFew === 0 && ahead === 0) return [`${count(hosts)} hosts, each whole at ${agents}`];
  const moving = complete ? '' : '; copies follow their owners while the crawl goes on';
  return [
    `${count(hosts)} hosts, ${count(hosts - hostsWithFew)} of them whole at ${agents}${moving}`,
    `copies: ${count(behind)} URLs behind their owners, ${count(ahead)} ahead`,
  ];
}

function uncheckedLines({ unchecked }: Audit): string[] {
  const left = Object.entries(unchecked);
  if (left.length === 0) return [];
  const lines = left.map(([agent, tables]) => printable(`  ${agent}: ${tables.join(', ')}`));
  return ['', 'large files; not checked for damage beyond what was counted:', ...lines];
}

/** While the crawl goes on, some copies are always on their way: that they are is said above. */
function worthKnowing({ warnings, complete, copies }: Audit): Audit['warnings'] {
  if (complete) return warnings;
  const list = warnings.list.filter(({ kind }) => kind !== 'few-copies');
  return { count: warnings.count - copies.hostsWithFew, list };
}

function listLines(title: string, found: Audit['problems'], max: number, audit: Audit): string[] {
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
