// The report of `ubiring explain` and its text for people: aligned lines, the verdicts of the filters as
// a table, and the referrers up to the seed.

import type { Explanation } from '../../control/explanation.ts';
import type { NetworkWait } from '../../core/crawl/networks-port.ts';
import { ASKING, CLAIMED_ELSEWHERE, COPIED } from '../../storage/encoding/network-places.ts';
import { dateText, printable, renderTable } from '../common/output.ts';

/** The verdict of one filter that a URL has to pass. */
export interface FilterVerdict {
  readonly filter: 'scope' | 'address' | 'length' | 'depth' | 'trap' | 'pages' | 'block' | 'robots';
  /** Null if it is not known yet. */
  readonly passes: boolean | null;
  readonly why: string;
}

/** A page on the path from the seed to the URL. */
export interface ChainLink {
  readonly url: string;
  /** The agent that has it; null if none that answered has. */
  readonly agent: string | null;
  readonly state: string;
  readonly status: number | null;
  readonly fetchedAt: number | null;
}

/** The output of `--json`. */
export interface UrlReport {
  readonly url: string;
  readonly identity: string;
  readonly fetchUrl: string;
  readonly host: string;
  /** The present owner; null if it is not known. */
  readonly owner: string | null;
  /** Preference list of the agents in the config. */
  readonly order: readonly string[];
  readonly source: 'agents' | 'files';
  /** The owner that other agents have asked without an answer; null: it answers, or no agent does. */
  readonly silentOwner: string | null;
  /** The other networks, and the one whose Redis has the host's lease; null: there are none. */
  readonly networks: { readonly others: readonly string[]; readonly home: string } | null;
  readonly filters: readonly FilterVerdict[];
  readonly state: string;
  /** When the first referrer was fetched, in Unix milliseconds: the link was found then. */
  readonly foundAt: number | null;
  /** From the page with the link back to a seed; empty for a seed. */
  readonly chain: readonly ChainLink[];
  readonly stored: Explanation | null;
}

/** @returns lines, without a newline at the end */
export function explainText(report: UrlReport): string {
  const facts = factsOf(report).map(([name, value]) => ({ name, value: printable(value) }));
  const width = Math.max(...facts.map(({ name }) => name.length));
  const head = facts.map(({ name, value }) => `${name.padEnd(width)}  ${value}`);
  const rows = report.filters.map(({ filter, passes, why }) => {
    return [filter, passes === null ? 'unknown' : passes ? 'passes' : 'stops', why];
  });
  const columns = [{ title: 'filter' }, { title: 'verdict' }, { title: 'reason' }];
  return [head.join('\n'), renderTable(columns, rows), ...chainText(report)].join('\n\n');
}

function factsOf(report: UrlReport): [string, string][] {
  const { identity, fetchUrl, host, owner, order, state, stored, foundAt } = report;
  const facts: [string, string][] = [['canonical', identity]];
  if (fetchUrl !== identity) facts.push(['requested as', fetchUrl]);
  const listed = order.length > 0 ? ` (order: ${order.join(', ')})` : '';
  facts.push(['host', host], ['owner', `${owner ?? 'unknown'}${listed}`]);
  facts.push(['source', sourceText(report)]);
  facts.push(['state', stateText(report, state)]);
  if (stored?.wait) facts.push(['host waits', waitText(stored.wait, report)]);
  const url = stored?.url;
  if (!url) return facts;
  const found = url.referrer === null ? 'a seed' : `on ${url.referrer}${dated(foundAt)}`;
  facts.push(['found', found], ['depth', String(url.depth)], ['attempts', String(url.attempts)]);
  if (url.fetchedAt !== null)
    facts.push(['fetched', `${dateText(url.fetchedAt)}, ${answer(report)}`]);
  if (url.former?.fetchedAt != null) {
    const { fetchedAt, ...ended } = url.former;
    facts.push(['previous', `${dateText(fetchedAt)}, ${outcomeText(ended)}`]);
  }
  if (url.redirectTo !== null) facts.push(['redirects to', url.redirectTo]);
  if (url.warcFile !== null) facts.push(['archived', `${url.warcFile} at ${url.warcOffset}`]);
  return facts;
}

function sourceText({ source, silentOwner, stored }: UrlReport): string {
  if (source === 'agents' && stored !== null) return stored.agent;
  const why =
    silentOwner === null ? 'no agent answers' : `its owner ${silentOwner} does not answer`;
  if (stored === null) return `none: ${why}, and there are no state files`;
  return `state file of ${stored.agent}; ${why}`;
}

function stateText(report: UrlReport, state: string): string {
  const { stored } = report;
  const { reason = null, notBefore = 0, again = false } = stored?.url ?? {};
  const queued = again ? 'requeued' : 'queued';
  if (state === 'skipped' && reason?.startsWith(ELSEWHERE)) {
    return `skipped: network ${reason.slice(ELSEWHERE.length)} has finished it`;
  }
  if (state === 'skipped') return `skipped: ${reason ?? 'no reason kept'}`;
  // The term of the docs for what the rows call a response.
  if (state === 'response') return 'done';
  if (state !== 'queued') return state;
  if (stored?.open?.kind === 'page' && stored.open.url === stored.url?.fetchUrl) {
    return `${queued}, being requested`;
  }
  const paused = stored?.paused ? ', the crawl is paused' : '';
  const undecided = undecidedText(report, notBefore, reason);
  if (undecided !== null) return `${queued}, ${undecided}${paused}`;
  return `${queued}${notBefore > 0 ? `, not before ${dateText(notBefore)}` : ''}${paused}`;
}

/** What the reason of a skipped URL begins with, before the name of the network that has it. */
const ELSEWHERE = 'elsewhere ';

/** Null if the URL waits for no other network. */
function undecidedText(
  { networks, foundAt }: UrlReport,
  notBefore: number,
  reason: string | null,
): string | null {
  if (notBefore === CLAIMED_ELSEWHERE)
    return `left to network ${reason}, which has not finished it`;
  if (notBefore === COPIED) return 'a copy, whose verdict only the owner knows';
  if (notBefore !== ASKING) return null;
  const since = foundAt === null ? '' : ` since ${dateText(foundAt)}`;
  return `waits${since} for the verdict of ${networks?.others.join(', ') ?? 'other networks'}`;
}

const WAITS = {
  new: 'a visit',
  back: 'a visit',
  slow: 'a visit, as a slow host',
  delay: 'politeness delay or back-off',
  retries: 'all its queued URLs are retries',
  outbox: 'the links of its pages are sent first',
  right: 'the fetch right',
  robots: 'the robots.txt of another host',
  permit: 'an address permit',
  network: 'other networks',
};

function waitText(wait: NonNullable<Explanation['wait']>, report: UrlReport): string {
  if (wait.kind === 'time') return `until ${dateText(wait.untilMs)}: ${WAITS[wait.why]}`;
  const why = wait.kind === 'event' ? wait.why : wait.kind;
  const awaited = report.stored?.networks;
  if (why === 'network' && awaited)
    return [networkText(awaited, report), ...awaited.failures].join('; ');
  return `for ${WAITS[why]}`;
}

function networkText(wait: NetworkWait, { networks }: UrlReport): string {
  const others = networks?.others.join(', ') ?? 'other networks';
  switch (wait.kind) {
    case 'lease': {
      const since = `for its lease since ${dateText(wait.sinceMs)}`;
      const holder =
        wait.holder === null ? 'who has it is not known' : `network ${wait.holder} has it`;
      return `${since}: ${holder}; the Redis of ${wait.home} grants it`;
    }
    case 'delay':
      return `until ${dateText(wait.untilMs)}: politeness delay after the last visit of a network`;
    case 'verdicts':
      return `for the verdict of ${others} since ${dateText(wait.sinceMs)}`;
    case 'claims':
      return `for ${others}: its URLs are left to them, and not finished there`;
    case 'look':
      return 'until its network has a centre, and its agent has looked for claims that lapsed';
    default:
      // The answer may be of an agent with a later version.
      wait satisfies never;
      return `for ${others}`;
  }
}

function answer({ stored }: UrlReport): string {
  const { status, error, contentType, durationMs, bytes } = stored!.url!;
  const what = outcomeText({ status, error });
  const more = [
    contentType,
    bytes === null ? null : `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`,
    `${durationMs} ms`,
  ];
  return [what, ...more.filter((text) => text !== null)].join(', ');
}

function outcomeText({ status, error }: { status: number | null; error: string | null }): string {
  return status === null ? `no response: ${error}` : `status ${status}`;
}

function chainText({ chain }: UrlReport): string[] {
  if (chain.length === 0) return [];
  const lines = chain.map(({ url, state, status, agent }) => {
    return printable(`  ${url}  ${status ?? state}${agent === null ? '' : ` (${agent})`}`);
  });
  return [`referrers, back to the seed:\n${lines.join('\n')}`];
}

function dated(at: number | null): string {
  return at === null ? '' : `, ${dateText(at)}`;
}
