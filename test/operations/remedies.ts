// Follows the advice in the messages of a refused or interrupted launch. A message that is not in
// this table is a fault, and so is a remedy that does not help.

import fs from 'node:fs';
import { crawlName, type OperatedCrawl, type Said } from './operated-crawl.ts';

interface Remedy {
  readonly says: RegExp;
  /** Follows the advice of the message. */
  readonly follow: (crawl: OperatedCrawl, match: RegExpMatchArray) => Promise<unknown> | unknown;
}

async function stopAll(crawl: OperatedCrawl): Promise<void> {
  await crawl.run('stop');
  await crawl.until('all agents have ended', () => crawl.running().length === 0);
}

export const remedies: readonly Remedy[] = [
  { says: /in use by a running agent; stop (it|that agent|that one) first/, follow: stopAll },
  // A launch that was killed has left some of its agents running.
  {
    says: /in use by a running agent; start the others:.*or stop all agents first:/s,
    follow: stopAll,
  },
  {
    says: /belongs to crawl '([^']+)', not '[^']+'; restore 'name: /,
    follow(crawl, [, name]) {
      crawl.name = name!;
      crawl.writeConfig();
    },
  },
  {
    says: /cluster\.json .*; stop the agents, remove it, and launch again/,
    async follow(crawl) {
      for (const pid of crawl.running()) process.kill(pid, 'SIGTERM');
      await crawl.until('all agents have ended', () => crawl.running().length === 0);
      fs.rmSync(crawl.path('cluster.json'));
    },
  },
  {
    says: /stop that agent \(SIGTERM to the process in its agent\.pid\) and launch again/,
    async follow(crawl) {
      for (const pid of crawl.running()) process.kill(pid, 'SIGTERM');
      await crawl.until('all agents have ended', () => crawl.running().length === 0);
    },
  },
  {
    says: /agent\.lock is damaged; delete it and start again/,
    follow: (crawl) => {
      for (let k = 1; k <= crawl.agents; k++) {
        fs.rmSync(crawl.path(`a${k}`, 'agent.lock'), { force: true });
      }
    },
  },
  {
    says: /set cluster\.agents to (\d+) again, then\nstart them too:/,
    follow(crawl, [, agents]) {
      crawl.agents = Number(agents);
      crawl.writeConfig();
    },
  },
  {
    says: /crawl\.json:\d+:\d+: .*politenes/,
    follow(crawl) {
      crawl.typo = {};
      crawl.writeConfig();
    },
  },
  { says: /interrupted; run launch again to continue/, follow: () => {} },
  // The next launch starts all agents.
  { says: /the crawl is not complete; start the agents named above/, follow: () => {} },
  { says: /the crawl is not complete; launch again once the cause is gone/, follow: () => {} },
];

/** Follows the advice of a launch that did not end with 0. Returns the fault, or null. */
export async function followAdvice(crawl: OperatedCrawl, said: Said): Promise<string | null> {
  for (const { says, follow } of remedies) {
    const match = says.exec(said.stderr);
    if (!match) continue;
    await follow(crawl, match);
    return null;
  }
  return `no remedy is known for: ${said.command} (${said.code}): ${said.stderr.trim()}`;
}

/** Restores the valid config with the original name. */
export function restoreConfig(crawl: OperatedCrawl): void {
  crawl.name = crawlName;
  crawl.typo = {};
  crawl.writeConfig();
}
