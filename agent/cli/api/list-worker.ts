// The thread that reads state files for the lists of the API: a list of many hosts takes longer than
// a turn of the server's event loop may. It must not load sockets of ZeroMQ, which a thread that ends
// would abort.

import { parentPort, workerData } from 'node:worker_threads';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import type { ResolvedConfig } from '../common/load-config.ts';
import { HttpProblem } from '../http/http-problem.ts';
import { eventsOf } from '../views/agent-events.ts';
import { circleAt, historyOf } from '../views/history.ts';
import { KeptCopies } from '../views/kept-copies.ts';
import { type MovesQuery, plannedMoves } from '../views/planned-moves.ts';
import {
  type HostsQuery,
  hostsPage,
  type UrlsQuery,
  type UrlView,
  urlsPage,
} from '../views/query-pages.ts';

const config = workerData as ResolvedConfig;
const { dataDir } = config.agent;

const { open } = new KeptCopies();

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
  events: (agent: string, after: number | null) => eventsOf(dataDir, agent, after, open),
} as const;

export type ListCalls = typeof CALLS;

export interface ListRequest {
  readonly name: keyof ListCalls;
  readonly args: readonly unknown[];
}

export interface ListResponse {
  readonly result?: unknown;
  /** Of an `HttpProblem`. */
  readonly problem?: HttpProblem['document'];
  /** Of any other error. */
  readonly error?: unknown;
}

parentPort!.on('message', ({ name, args }: ListRequest) => {
  const call = CALLS[name] as (...args: readonly unknown[]) => unknown;
  let response: ListResponse;
  try {
    response = { result: call(...args) };
  } catch (error) {
    const isProblem = error instanceof HttpProblem;
    response = isProblem ? { problem: error.document } : { error };
  }
  parentPort!.postMessage(response);
});
