// The process that reads state files for the lists of the API: a list of many hosts takes longer than
// a turn of the server's event loop may. It ends with the server: a thread looks for that, because a
// step of SQLite does not see that the channel has closed.

import { Worker } from 'node:worker_threads';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import type { UrlView } from '../../storage/reads/url-lists.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import { HttpProblem } from '../http/http-problem.ts';
import { eventsOf } from '../views/agent-events.ts';
import { circleAt, historyOf } from '../views/history.ts';
import { KeptCopies, type OpenState } from '../views/kept-copies.ts';
import { type MovesQuery, plannedMoves } from '../views/planned-moves.ts';
import { type HostsQuery, hostsPage } from '../views/query-pages.ts';
import { type UrlsQuery, urlsPage } from '../views/url-pages.ts';

/** A process whose parent has ended gets another one. */
const WATCH = `setInterval(() => {
  if (process.ppid !== ${process.ppid}) process.kill(process.pid, 'SIGKILL');
}, 1000);`;
new Worker(WATCH, { eval: true }).unref();

let config: ResolvedConfig;

/** Of the request. */
let stale: readonly string[] = [];

const copies = new KeptCopies();
/** The state of another crawl counts as if it were not here, too. */
const open: OpenState = (agent, path) => {
  const file = stale.includes(agent) ? null : copies.open(agent, path);
  if (file === null || typeof file === 'string') return file;
  if (file.otherCrawl(config.name) === undefined) return file;
  file.close();
  return null;
};

const CALLS = {
  hosts: (query: HostsQuery, living: readonly string[]) => {
    return hostsPage(config, query, living, open);
  },
  urls: (view: UrlView, query: UrlsQuery, living: readonly string[]) => {
    return urlsPage(config, view, query, living, open);
  },
  history: () => historyOf(config, open),
  circleAt: (at: number) => circleAt(config, at, open),
  moves: (agents: readonly AgentStatus[], asked: MovesQuery) => {
    return plannedMoves(config, agents, asked, open);
  },
  events: (agent: string, after: number | null) =>
    eventsOf(config.agent.dataDir, agent, after, open),
} as const;

export type ListCalls = typeof CALLS;

/** The first message. */
export interface ListStart {
  readonly config: ResolvedConfig;
}

export interface ListRequest {
  readonly name: keyof ListCalls;
  readonly args: readonly unknown[];
  /** Agents whose states are not read; see `askStatusAndStale`. */
  readonly stale: readonly string[];
}

export interface ListResponse {
  readonly result?: unknown;
  /** Of an `HttpProblem`. */
  readonly problem?: HttpProblem['document'];
  /** Of any other error. */
  readonly error?: unknown;
}

process.on('message', (message: ListStart | ListRequest) => {
  if ('config' in message) {
    config = message.config;
    return;
  }
  ({ stale } = message);
  const call = CALLS[message.name] as (...args: readonly unknown[]) => unknown;
  let response: ListResponse;
  try {
    response = { result: call(...message.args) };
  } catch (error) {
    const isProblem = error instanceof HttpProblem;
    response = isProblem ? { problem: error.document } : { error };
  }
  process.send!(response, () => {});
});
