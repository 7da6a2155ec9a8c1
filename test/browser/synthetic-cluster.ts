// A dashboard of a cluster that does not exist: it serves the pages of the dashboard with answers that
// are computed, so that large clusters can be looked at without running them.

import assert from 'node:assert/strict';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { readAssets } from '../../agent/cli/api/assets.ts';
import { circleView } from '../../agent/cli/views/circle-view.ts';
import type { ClusterView } from '../../agent/cli/views/cluster-watch.ts';
import { placeIn } from '../../agent/cli/views/list-token.ts';
import { mergedHosts } from '../../agent/cli/views/query-pages.ts';
import type { AgentStatus } from '../../agent/monitor/agent-status.ts';
import { agentStatus } from '../unit/cli/agent-status.ts';

const SUSPECT_MS = 5000;
/** A takeover, then as many hand-overs as the overview shows events. */
const EVENTS = ['takeover', ...Array<string>(6).fill('handoff')]
  .map((kind, at) => {
    const event = { agent: 'a1', at: at + 1000, kind, text: `${kind} ${at}`, detail: {} };
    return `id: a1.${at}\ndata: ${JSON.stringify(event)}\n\n`;
  })
  .join('');

export interface SyntheticCluster {
  readonly url: string;
  /** The agent answers no more, and the others take its part. */
  kill(id: string): void;
  /** The role of clients from now on, as the header of the API names it. */
  role(role: string): void;
  stop(): Promise<void>;
}

/** Numbers that look measured, and are the same in each run. */
function varied(seed: number, max: number): number {
  const x = Math.sin(seed * 12.9898) * 43_758.5453;
  return Math.floor((x - Math.floor(x)) * max);
}

function statusOf(id: string, ids: readonly string[], overlay: string): AgentStatus {
  const n = Number(id.slice(1));
  const others = ids.filter((one) => one !== id);
  // Agents of the overlay kademlia know only some others.
  const known = overlay === 'ring' ? others : others.filter((_, k) => varied(n * 99 + k, 4) === 0);
  const members = known.map((one, k) => ({
    ...{ id: one, inc: 1, capacity: 1, address: `tcp://10.0.0.${one.slice(1)}:7100` },
    ...{ joined: true, leaving: false, relayed: false },
    silentMs: varied(n * 64 + k, 12) === 0 ? varied(k, SUSPECT_MS) : varied(n + k, 900),
  }));
  return agentStatus({
    ...{ id, members, threads: 64, openRequests: 20 + varied(n, 40) },
    ...{ hosts: 9000 + varied(n, 2500), hostsWithQueue: 4000, pages: 410_000 + varied(n, 90_000) },
    ...{ queued: 1_200_000 + varied(n, 400_000), outbox: varied(n, 900), copyLag: varied(n, 30) },
    ...{ pagesPerSecond: 40 + varied(n, 20), loopDelayMs: 11 + varied(n, 30) },
    ...{ rssBytes: (260 + varied(n, 90)) * 1024 ** 2, uptimeMs: 31_000_000 },
    failures: { '4xx': 900 + varied(n, 99), timeout: 120 + varied(n, 40), dns: varied(n, 80) },
    diskFreeBytes: 10 ** 12,
  });
}

/** Each agent takes its samples at other times. All see the first one join, and one joins again. */
function historyOf(ids: readonly string[]) {
  return {
    ...{ span: { from: 1000, to: 10_000 }, problems: [] },
    agents: ids.map((id, k) => ({
      id,
      samples: [2000, 5000, 8000].map((at) => [at + k, 100, 50 + k, 3 + k, 10]),
    })),
    changes: [
      ...ids.map((by, k) => ({ at: 1000 + k, by, id: 'a1', kind: 'join', incarnation: 7 })),
      { at: 9000, by: 'a2', id: 'a1', kind: 'join', incarnation: 7 },
    ],
  };
}

/** Each answer finds other queues, as in a crawl: hosts change their places in the order. */
function hostsOf(hosts: number) {
  let asked = 0;
  return (search: URLSearchParams) => {
    const sort = search.get('sort') === 'host' ? 'host' : 'pages_queued';
    const limit = Number(search.get('limit') ?? 100);
    assert.ok(limit <= 1000, `${limit} rows`);
    const after = search.get('after');
    const place = after === null ? null : placeIn(`hosts by ${sort}`, after);
    asked++;
    const rows = Array.from({ length: hosts }, (_, n) => ({
      ...{ agent: 'a1', host: `h${n}.test`, state: 'visiting', delay_ms: 1000, pages_done: n },
      pages_queued: varied(n + asked * hosts, 5000),
    })).filter(({ host, pages_queued: queued }) => {
      if (place === null) return true;
      const [sorted, name] = place;
      if (sort === 'host' || queued === sorted) return host > name;
      return queued < Number(sorted);
    });
    return mergedHosts([{ rows, next: null, problems: [] }], { sort, limit }, []);
  };
}

type Answers = Readonly<Record<string, (search: URLSearchParams) => unknown>>;

function stream(response: http.ServerResponse, answers: Answers): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(EVENTS);
  const send = (event: string) => {
    const answer = answers[`/api/v1/${event}`]!(new URLSearchParams());
    response.write(`event: ${event}\ndata: ${JSON.stringify(answer)}\n\n`);
  };
  const sendState = () => ['cluster', 'circle'].forEach(send);
  sendState();
  const timer = setInterval(sendState, 1000);
  response.once('close', () => clearInterval(timer));
}

export async function startSynthetic(
  agents: number,
  overlay: 'ring' | 'kademlia',
  hosts = 0,
): Promise<SyntheticCluster> {
  const assets = readAssets();
  const cluster = { overlay, replicas: 100, kademlia: { ids: 8 } } as never;
  const all = Array.from({ length: agents }, (_, k) => `a${k + 1}`);
  let ids = all;
  let roleNow = 'admin';
  const view = (): ClusterView => {
    const dead = all.filter((id) => !ids.includes(id));
    return {
      ...{ name: `${agents} agents`, overlay, heartbeatMs: 500, suspectAfterMs: SUSPECT_MS },
      ...{ backups: 1, at: Date.now(), failures: [], unreachable: dead },
      agents: ids.map((id) => statusOf(id, ids, overlay)),
      orders: [],
      problems: dead.map((id) => ({
        ...{ text: `${id} does not answer`, place: 'agents', isGrave: true as const },
        remedy: `if it does not run, start it on its machine: ubiring agent crawl.yaml --id ${id}`,
      })),
    };
  };
  const parts = () => ids.map((id) => ({ id, capacity: 1 }));
  /** One agent at 1 s, all at 4 s, and all but the last at 9 s. */
  const partsAt = (at: number) => {
    const members = at < 4000 ? all.slice(0, 1) : at < 9000 ? all : all.slice(0, -1);
    return members.map((id) => ({ id, capacity: 1 }));
  };
  const answers: Answers = {
    '/api/v1/cluster': view,
    '/api/v1/circle': (search) => {
      const at = search.get('at');
      const members = at === null ? parts() : partsAt(Number(at));
      return { overlay, views: [circleView(cluster, ids, members)] };
    },
    '/api/v1/history': () => historyOf(all),
    '/api/v1/hosts': hostsOf(hosts),
  };
  const server = http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    const asset = assets.get(pathname);
    const answer = answers[pathname];
    response.setHeader('ubiring-role', roleNow);
    if (asset) response.writeHead(200, { 'content-type': asset.type }).end(asset.body);
    else if (answer) response.end(JSON.stringify(answer(searchParams)));
    else if (pathname === '/api/v1/events') {
      stream(response, answers);
    } else response.writeHead(404).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    kill: (id) => {
      ids = ids.filter((one) => one !== id);
    },
    role: (role) => {
      roleNow = role;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
