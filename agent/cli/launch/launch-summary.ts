// The summary at the end of a launch: a table of each agent's results, read from the state files,
// and notes on what is missing from them.

import { messageOf } from '../common/exit-code.ts';
import { type ResolvedConfig, shownCrawl } from '../common/load-config.ts';
import {
  bytesText,
  count,
  durationText,
  printable,
  programName,
  renderTable,
} from '../common/output.ts';
import { type AgentTotals, type CrawlTotals, crawlTotals } from '../state-files/query-totals.ts';
import { blockOf } from '../state-files/stored-directives.ts';
import { type AgentExit, exitText } from './agent-exits.ts';
import type { AgentProcess } from './agent-process.ts';

type Totals = Pick<AgentTotals, 'agent' | 'pages' | 'failed' | 'hosts' | 'bytes'>;

/** @param tookMs - from the start of the agents to the exit of the last one */
export function launchSummary(
  config: ResolvedConfig,
  agents: readonly AgentProcess[],
  tookMs: number,
): string {
  let found: CrawlTotals;
  try {
    found = crawlTotals(config.agent.dataDir, config);
  } catch (error) {
    return `cannot read the totals from the state files: ${messageOf(error)}\n`;
  }
  const { agents: totals, missing, elsewhere, queuedAgain } = found;
  const ends = new Map(agents.map(({ id, exit }) => [id, exit]));
  // Agents that were started without this launch are listed by their state files only.
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
  const numbers = ['pages', 'failed', 'hosts', 'bytes'];
  const table = renderTable(
    [
      { title: 'agent' },
      ...numbers.map((title) => ({ title, align: 'right' as const })),
      { title: 'end' },
    ],
    [...rows, rowOf('all', all, `after ${durationText(tookMs)}`)],
  );
  const trouble = troubleText(
    sum(({ hostsUnreachable }) => hostsUnreachable),
    sum(({ serverErrors }) => serverErrors),
  );
  const absent = missingText(missing, config);
  const rest = `${elsewhereText(elsewhere)}${blockedText(totals, config)}`;
  return `\n${table}\n\n${absent}${queuedAgainText(queuedAgain)}${trouble}${rest}`;
}

/** Names members without a state file in this data directory; '' if there are none. */
function missingText(missing: readonly string[], { agent }: ResolvedConfig): string {
  if (missing.length === 0) return '';
  const why = `no readable state in ${agent.dataDir}; its pages are not counted here`;
  return `${missing.map((id) => `${id}: ${why}\n`).join('')}\n`;
}

/** Why an unfinished refresh counts fewer pages than the crawl before; '' if nothing is queued again. */
function queuedAgainText(urls: number): string {
  if (urls === 0) return '';
  const what = urls === 1 ? 'queued URL has' : 'queued URLs have';
  return `${count(urls)} ${what} an earlier answer, which is not counted here\n\n`;
}

/** The URLs that other networks have; '' if there are none. */
function elsewhereText(elsewhere: CrawlTotals['elsewhere']): string {
  if (elsewhere.length === 0) return '';
  const all = elsewhere.reduce((sum, { urls }) => sum + urls, 0);
  const each = elsewhere.map(({ network, urls }) => `${printable(network)} ${count(urls)}`);
  const what = `${count(all)} ${all === 1 ? 'URL is' : 'URLs are'} left to other networks`;
  return `${what}: ${each.join(', ')}\n\n`;
}

/** Why URLs in scope were skipped as blocked; '' if there are none. */
function blockedText(totals: readonly AgentTotals[], config: ResolvedConfig): string {
  const blocked = totals.reduce((sum, one) => sum + one.blocked, 0);
  if (blocked === 0) return '';
  const host = totals.find(({ blockedHost }) => blockedHost !== null)?.blockedHost;
  const privateText = config.http.allowPrivateAddresses
    ? ''
    : 'a private address (set http.allowPrivateAddresses and launch --fresh) or ';
  const by = blockOf(config, host ?? '');
  const why =
    by === null
      ? 'a block that has ended (the next launch queues them again) or an address or port that is refused'
      : `a directive (${programName()} block ${shownCrawl(config)} '${by}' --off)`;
  const what = `${count(blocked)} ${blocked === 1 ? 'URL was' : 'URLs were'} skipped as blocked`;
  return `${what}, for example on ${host}: ${privateText}${why}\n\n`;
}

/** Counts hosts and pages that the crawl could not get; '' if there are none. */
function troubleText(hosts: number, pages: number): string {
  const hostsText = `${hosts === 1 ? 'host' : 'hosts'} could not be reached or ${hosts === 1 ? 'was' : 'were'} abandoned`;
  const pagesText = `${pages === 1 ? 'page' : 'pages'} ended with 429 or 5xx`;
  const said = [
    ...(hosts > 0 ? [`${count(hosts)} ${hostsText}`] : []),
    ...(pages > 0 ? [`${count(pages)} ${pagesText}`] : []),
  ];
  return said.length > 0 ? `${said.join('; ')}\n\n` : '';
}

/** @param ofFile - the exit of the agent's last run, which may be later than this launch */
export function endOf(exit: AgentExit | null, ofFile: AgentTotals['end']): string {
  if (exit === null) return ofFile ?? 'not of this launch';
  // It may have been started again by hand.
  const isBack =
    exit.kind === 'killed' ? ofFile !== null : exit.kind === 'left' && ofFile === 'complete';
  return isBack ? ofFile! : exitText(exit);
}

function rowOf(id: string, totals: Totals | null, end: string): string[] {
  if (totals === null) return [id, '-', '-', '-', '-', end];
  const { pages, failed, hosts, bytes } = totals;
  return [id, count(pages), count(failed), count(hosts), bytesText(bytes), end];
}
