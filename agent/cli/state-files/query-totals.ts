// The totals of a crawl for the summary of `launch`. They are counted over the merged views, each URL
// in its present state, so they match `audit`, `status` and `query`.

import type { Config } from '../../../config/config.ts';
import { isUnusedState, openStateFiles } from '../common/query-files.ts';
import { HOST_ERRORS } from './host-errors.ts';
import { ownFiles } from './other-crawl.ts';
import type { EventHistory } from './query-members.ts';
import { ownersOf } from './query-owners.ts';
import { ClusterViews } from './query-views.ts';

export interface AgentTotals {
  readonly agent: string;
  /** URLs that ended with a response or failed. */
  readonly pages: number;
  readonly failed: number;
  /** URLs whose last response was 429 or 5xx. */
  readonly serverErrors: number;
  /** Hosts that were abandoned, or whose finished URLs all failed. */
  readonly hostsUnreachable: number;
  /** URLs skipped as `blocked`, and one of their hosts. */
  readonly blocked: number;
  readonly blockedHost: string | null;
  readonly bytes: number;
  readonly hosts: number;
  /** How the agent's last run ended; null if that is unknown. */
  readonly end: EventHistory['end'];
}

const HOST_CODES = HOST_ERRORS.map((code) => `'${code}'`).join(', ');

export interface CrawlTotals {
  /** Agents with a readable state in the data directory, except agents that were never members. */
  readonly agents: readonly AgentTotals[];
  /** Members without such a state, which are not counted. */
  readonly missing: readonly string[];
  /** The URLs that are left to other networks. */
  readonly elsewhere: readonly { readonly network: string; readonly urls: number }[];
  /** URLs that are queued again after an answer, as in an unfinished refresh: not among the pages. */
  readonly queuedAgain: number;
}

export function crawlTotals(
  dataDir: string,
  config: Pick<Config, 'cluster' | 'name'>,
): CrawlTotals {
  const { own: files, others } = ownFiles(openStateFiles(dataDir, []).files, config.name);
  for (const [file] of others) file.close();
  const owners = ownersOf(files, config);
  const views = new ClusterViews(files, () => {}, owners.owner);
  const db = views.open();
  try {
    const hosts = db
      .prepare<[], { agent: string; hosts: number }>(
        'SELECT agent, count(*) AS hosts FROM hosts GROUP BY agent',
      )
      .all();
    const pages = db
      .prepare<[], Omit<AgentTotals, 'hosts' | 'end' | 'blocked' | 'blockedHost'>>(
        `SELECT agent, sum(n) AS pages, sum(n - answered) AS failed, sum(bytes) AS bytes,
          sum(refused) AS serverErrors, sum(answered = 0 OR givenUp) AS hostsUnreachable
         FROM (SELECT agent, host, count(*) AS n, count(status) AS answered, sum(bytes) AS bytes,
            sum(coalesce(status, 0) = 429 OR coalesce(status, 0) >= 500) AS refused,
            max(coalesce(error, '') IN (${HOST_CODES})) AS givenUp
          FROM pages WHERE NOT queued_again AND skipped IS NULL GROUP BY agent, host)
         GROUP BY agent`,
      )
      .all();
    const blocked = db
      .prepare<[], Pick<AgentTotals, 'agent' | 'blocked' | 'blockedHost'>>(
        `SELECT agent, count(*) AS blocked, min(host) AS blockedHost FROM skipped
         WHERE reason = 'blocked' GROUP BY agent`,
      )
      .all();
    const queuedAgain = db
      .prepare<[], number>('SELECT count(*) FROM pages WHERE queued_again')
      .pluck()
      .get()!;
    const elsewhere = db
      .prepare<[], CrawlTotals['elsewhere'][number]>(
        `SELECT network, count(*) AS urls FROM (
            SELECT network FROM skipped WHERE reason = 'elsewhere'
            UNION ALL SELECT network FROM frontier WHERE state = 'elsewhere')
          GROUP BY network ORDER BY urls DESC, network`,
      )
      .all();
    const agents = files.flatMap((file, k) => {
      const { agent } = file;
      // A former member that ended as complete did so in an earlier round or before the crawl
      // continued.
      const isFormer = !owners.view.includes(agent);
      if (isFormer && isUnusedState(file)) return [];
      const historyEnd = owners.histories[k]!.end;
      const end = isFormer && historyEnd === 'complete' ? null : historyEnd;
      const none = { agent, pages: 0, failed: 0, bytes: 0, serverErrors: 0, hostsUnreachable: 0 };
      const found = pages.find((row) => row.agent === agent) ?? none;
      const { hosts: held = 0 } = hosts.find((row) => row.agent === agent) ?? {};
      const skipped = blocked.find((row) => row.agent === agent);
      return [{ ...found, blocked: 0, blockedHost: null, ...skipped, hosts: held, end }];
    });
    const missing = owners.view.filter((id) => !files.some(({ agent }) => agent === id));
    return { agents, missing, elsewhere, queuedAgain };
  } finally {
    db.close();
    views.close();
  }
}
