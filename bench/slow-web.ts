// A web in which some hosts take long for every answer, robots.txt included, and the others answer
// at once. It shows whether slow hosts cost the others anything. Each host has its own address, and
// its first page links to all its other pages. The caller decides when the slow hosts may answer.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SlowWebOptions {
  readonly hosts: number;
  /** How many hosts are slow: the first ones, so that they are visited first. */
  readonly slowHosts: number;
  /** Pages of a fast host and of a slow host. */
  readonly pages: number;
  readonly slowPages: number;
  /** Resolves when a slow host may answer. */
  readonly patience: () => Promise<void>;
}

export interface Asked {
  readonly address: string;
  readonly path: string;
  /** Milliseconds since the start of the process. */
  readonly startMs: number;
  /** Null until the answer is sent. */
  endMs: number | null;
}

export interface SlowWeb {
  /** First page of every host. */
  readonly seeds: readonly string[];
  isSlow(address: string): boolean;
  /** Every request so far, in order of arrival. */
  readonly asked: readonly Asked[];
  /** Called after each answer. */
  onAnswer: () => void;
  stop(): Promise<void>;
}

export async function startSlowWeb(options: SlowWebOptions): Promise<SlowWeb> {
  const { hosts, slowHosts, pages, slowPages, patience } = options;
  const addresses = Array.from({ length: hosts }, (_, k) => `127.45.0.${k + 1}`);
  const slow = new Set(addresses.slice(0, slowHosts));
  const asked: Asked[] = [];
  const server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
    const { localAddress: address = '' } = request.socket;
    const one: Asked = {
      address,
      path: request.url ?? '',
      startMs: performance.now(),
      endMs: null,
    };
    asked.push(one);
    if (slow.has(address)) await patience();
    if (one.path === '/robots.txt') response.writeHead(404);
    else response.setHeader('content-type', 'text/html');
    response.end(one.path === '/' ? linksTo(slow.has(address) ? slowPages : pages) : '<p>leaf');
    one.endMs = performance.now();
    web.onAnswer();
  });
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', 4096, resolve));
  const { port } = server.address() as AddressInfo;
  const web: SlowWeb = {
    seeds: addresses.map((address) => `http://${address}:${port}/`),
    isSlow: (address) => slow.has(address),
    asked,
    onAnswer: () => {},
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return web;
}

/** Links from the first page, which is one of the pages, to the others. */
function linksTo(pages: number): string {
  return Array.from({ length: pages - 1 }, (_, k) => `<a href="/${k + 1}">${k + 1}</a>\n`).join('');
}
