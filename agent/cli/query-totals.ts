// What a crawl came to, for the summary at the end of `launch`: counted over the merged views, so
// that the numbers are those that `query` gives afterwards.

import { openStateFiles } from './query-files.ts';
import { ClusterViews } from './query-views.ts';

export interface AgentTotals {
  readonly agent: string;
  /** URLs that ended with a response or failed. */
  readonly pages: number;
  readonly failed: number;
  readonly bytes: number;
  readonly hosts: number;
}

/** One entry for each agent that has a state in `dataDir`; files that cannot be read are left out. */
export function crawlTotals(dataDir: string): readonly AgentTotals[] {
  const { files } = openStateFiles(dataDir, []);
  const views = new ClusterViews(files, () => {});
  const db = views.open();
  try {
    const hosts = db
      .prepare<[], { agent: string; hosts: number }>(
        'SELECT agent, count(*) AS hosts FROM hosts GROUP BY agent',
      )
      .all();
    const pages = db
      .prepare<[], Omit<AgentTotals, 'hosts'>>(
        `SELECT agent, count(*) AS pages, count(*) - count(status) AS failed, sum(bytes) AS bytes
         FROM pages GROUP BY agent`,
      )
      .all();
    return files.map(({ agent }) => {
      const none = { agent, pages: 0, failed: 0, bytes: 0 };
      const found = pages.find((row) => row.agent === agent) ?? none;
      return { ...found, hosts: hosts.find((row) => row.agent === agent)?.hosts ?? 0 };
    });
  } finally {
    db.close();
    views.close();
  }
}
