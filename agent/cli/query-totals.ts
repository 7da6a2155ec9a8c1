// What a crawl came to, for the summary at the end of `launch`: counted over the merged views, so
// that the numbers are those that `query` gives afterwards.

import type { Config } from '../../config/config.ts';
import { openStateFiles } from './query-files.ts';
import { type Course, ownersOf } from './query-owners.ts';
import { ClusterViews } from './query-views.ts';

export interface AgentTotals {
  readonly agent: string;
  /** URLs that ended with a response or failed. */
  readonly pages: number;
  readonly failed: number;
  readonly bytes: number;
  readonly hosts: number;
  /** How the agent's last life ended, as far as it could still tell. */
  readonly end: Course['end'];
}

/** One entry for each agent that has a state in `dataDir`; files that cannot be read are left out. */
export function crawlTotals(
  dataDir: string,
  config: Pick<Config, 'cluster'>,
): readonly AgentTotals[] {
  const { files } = openStateFiles(dataDir, []);
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
      .prepare<[], Omit<AgentTotals, 'hosts' | 'end'>>(
        `SELECT agent, count(*) AS pages, count(*) - count(status) AS failed, sum(bytes) AS bytes
         FROM pages GROUP BY agent`,
      )
      .all();
    return files.map(({ agent }, k) => {
      const end = owners.courses[k]!.end;
      const none = { agent, pages: 0, failed: 0, bytes: 0 };
      const found = pages.find((row) => row.agent === agent) ?? none;
      const { hosts: held = 0 } = hosts.find((row) => row.agent === agent) ?? {};
      return { ...found, hosts: held, end };
    });
  } finally {
    db.close();
    views.close();
  }
}
