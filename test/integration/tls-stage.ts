// A site with TLS and its crawl, shared by `tls.test.ts` and `slow/tls.test.ts`.

import assert from 'node:assert/strict';
import http2, { type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { TestContext } from 'node:test';
import {
  TEST_AUTHORITY,
  TEST_KEY,
  VALID_CERTIFICATE,
} from '../contract/fetch/test-certificates.ts';
import { patient, run, Scratch } from './cli-process.ts';

const pages = 30;

interface Site {
  readonly port: number;
  /** `VERSION PATH` of each request. */
  readonly asked: string[];
  readonly busiest: () => number;
  readonly connections: () => number;
  stop(): void;
}

/** Serves thirty pages, each with links to its neighbours; robots.txt excludes one of them. */
async function serve(): Promise<Site> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  let [open, busiest] = [0, 0];
  const answer = (request: Http2ServerRequest, response: Http2ServerResponse) => {
    asked.push(`${request.httpVersion} ${request.url}`);
    busiest = Math.max(busiest, ++open);
    response.once('close', () => open--);
    const at = Number(request.url.slice(1) || 0);
    const isRobots = request.url === '/robots.txt';
    response.setHeader('content-type', isRobots ? 'text/plain' : 'text/html');
    response.end(isRobots ? 'User-agent: *\nDisallow: /7\n' : linksTo([at + 1, at + 2, at - 1]));
  };
  const server = http2.createSecureServer(
    { key: TEST_KEY, cert: VALID_CERTIFICATE, allowHTTP1: true },
    answer as Parameters<typeof http2.createSecureServer>[1],
  );
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    busiest: () => busiest,
    connections: () => sockets.size,
    stop: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

function linksTo(numbers: readonly number[]): string {
  const inside = numbers.filter((at) => at >= 0 && at < pages);
  return inside.map((at) => `<a href="/${at}">${at}</a>`).join('');
}

async function crawl(site: Site, scratch: Scratch, http: Record<string, unknown>): Promise<string> {
  scratch.write('authority.pem', TEST_AUTHORITY);
  const more = {
    seeds: [`https://127.0.0.1:${site.port}/0`],
    politeness: { hostDelayMs: 1 },
    archive: { links: true },
    http: { userAgent: 'tls (+https://example.org/)', allowPrivateAddresses: true, ...http },
  };
  const config = await scratch.config(2, more, patient);
  const { code, stderr } = await run('launch', config);
  assert.equal(code, 0, stderr);
  return config;
}

/** @param offered - whether the config allows HTTP/2; `version` must be the result */
export async function assertCrawledWhole(
  t: TestContext,
  version: '1.1' | '2.0',
  offered: boolean,
): Promise<void> {
  const site = await serve();
  const scratch = new Scratch();
  t.after(() => {
    scratch.clean();
    site.stop();
  });
  const config = await crawl(site, scratch, { http2: offered, tls: { ca: 'authority.pem' } });
  const expected = Array.from({ length: pages }, (_, at) => `${version} /${at}`);
  const wanted = [...expected.filter((line) => !line.endsWith('/7')), `${version} /robots.txt`];
  assert.deepEqual(site.asked.toSorted(), wanted.toSorted());
  assert.deepEqual([site.busiest(), site.connections()], [1, 1]);
  const numbers = Array.from({ length: pages }, (_, at) => at).filter((at) => at !== 7);
  const steps = numbers.flatMap((at) => [1, 2, -1].map((by) => [at, at + by] as const));
  const url = (at: number) => `https://127.0.0.1:${site.port}/${at}`;
  const inside = steps.filter(([, to]) => to >= 0 && to < pages);
  const lines = inside.map(([at, to]) => `${url(at)}\t${url(to)}`);
  const graph = await run('export', config, '--format', 'graph');
  assert.deepEqual(graph.stdout.trimEnd().split('\n').toSorted(), lines.toSorted());
  const sql = 'SELECT count(*) AS n FROM pages WHERE status = 200';
  const counted = await run('query', config, sql, '--format', 'json');
  assert.deepEqual(JSON.parse(counted.stdout), [{ n: pages - 1 }]);
}
