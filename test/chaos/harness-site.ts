// A few hosts whose answers the test decides, for cases that a synthetic web lacks: a host that is
// down for a while, a page that is held back, a Retry-After of a hundred years. The log keeps each
// request.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { steadyMs } from './harness-process.ts';

export interface SiteAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** `cut`: the connection is closed without an answer. A promise delays the answer. */
export type Answering = (
  host: number,
  target: string,
  earlier: number,
) => SiteAnswer | 'cut' | Promise<SiteAnswer | 'cut'>;

export interface Site {
  origin(host: number): string;
  /** Arrival times of the requests for the target, on the clock of the web's log. */
  requests(host: number, target?: string): readonly number[];
  stop(): Promise<void>;
}

/** Second byte of the hosts' addresses. No other web of a test uses it. */
const net = 45;

/** Address of host `n`, from 0 to 253. */
export function siteAddress(host: number): string {
  return `127.${net}.0.${host + 1}`;
}

/** Host `n` is 127.45.0.(n + 1), all at one port. */
export async function startSite(answering: Answering): Promise<Site> {
  const seen: { host: number; target: string; atMs: number }[] = [];
  const of = (host: number, target?: string) =>
    seen.filter((r) => r.host === host && (target === undefined || r.target === target));
  const server = createServer(async (request, response) => {
    const host = Number(request.socket.localAddress?.split('.').at(-1)) - 1;
    const target = request.url ?? '/';
    const earlier = of(host, target).length;
    seen.push({ host, target, atMs: steadyMs() });
    const answer = await answering(host, target, earlier);
    if (answer === 'cut') return request.socket.destroy();
    const { status = 200, headers = {}, body = '' } = answer;
    const type = target === '/robots.txt' ? 'text/plain' : 'text/html';
    response.writeHead(status, { 'content-type': type, ...headers }).end(body);
    return undefined;
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: (host) => `http://${siteAddress(host)}:${port}`,
    requests: (host, target) => of(host, target).map(({ atMs }) => atMs),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
