// The end of a launch: a table of what each agent did, as its file tells, and what to ask next.

import { messageOf } from '../common/exit-code.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import { bytesText, count, durationText, renderTable } from '../common/output.ts';
import { type AgentTotals, type CrawlTotals, crawlTotals } from '../state-files/query-totals.ts';
import type { AgentProcess } from './agent-process.ts';
import { type Ending, endingText } from './endings.ts';

/** What a line of the table shows. */
type Totals = Pick<AgentTotals, 'agent' | 'pages' | 'failed' | 'hosts' | 'bytes'>;

/** @param tookMs - from the start of the agents to the end of the last */
export function launchSummary(
  config: ResolvedConfig,
  agents: readonly AgentProcess[],
  tookMs: number,
): string {
  let found: CrawlTotals;
  try {
    found = crawlTotals(config.agent.dataDir, config);
  } catch (error) {
    return `the state files cannot be summed up: ${messageOf(error)}\n`;
  }
  const { agents: totals, missing } = found;
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
  const trouble = troubleText(
    sum(({ hostsUnreachable }) => hostsUnreachable),
    sum(({ serverErrors }) => serverErrors),
  );
  const absent = missingText(missing, config);
  return `\n${table}\n\n${absent}${trouble}${blockedText(totals, config)}`;
}

/** Agents of other machines, of other data directories, or whose file is lost; '' where all are here. */
function missingText(missing: readonly string[], { agent }: ResolvedConfig): string {
  const where = `no readable state in ${agent.dataDir}; what it crawled is not counted here`;
  return (
    missing.map((id) => `${id}: a member with ${where}\n`).join('') +
    (missing.length > 0 ? '\n' : '')
  );
}

/** Why URLs were not asked for though they are in scope; '' where all were. */
function blockedText(totals: readonly AgentTotals[], { http }: ResolvedConfig): string {
  const blocked = totals.reduce((sum, one) => sum + one.blocked, 0);
  if (blocked === 0 || http.allowPrivateAddresses) return '';
  const host = totals.find(({ blockedHost }) => blockedHost !== null)?.blockedHost;
  return (
    `${count(blocked)} ${blocked === 1 ? 'URL was' : 'URLs were'} skipped as blocked, as of ` +
    `${host}: private addresses are refused unless http.allowPrivateAddresses is true when a crawl ` +
    'begins (launch --fresh begins anew), and hosts blocked by order until block --off\n\n'
  );
}

/** What a person should see before believing that the crawl has everything; '' where it has. */
function troubleText(hosts: number, pages: number): string {
  const hostsText = `${count(hosts)} ${hosts === 1 ? 'host' : 'hosts'} could not be reached, or not to the end`;
  const pagesText = `${count(pages)} ${pages === 1 ? 'page' : 'pages'} ended with 429 or 5xx`;
  const said = [hosts > 0 ? hostsText : '', pages > 0 ? pagesText : ''].filter(
    (text) => text !== '',
  );
  return said.length > 0 ? `${said.join('; ')}\n\n` : '';
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
