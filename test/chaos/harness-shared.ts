// A web whose hosts share few addresses: `h0-46-0-1.shared.test` to `h19-46-0-2.shared.test` at
// 127.46.0.1 and the next ones, as the name says, told apart by the Host header. Each host is a
// chain of pages, and each page links to a page of the next host. The log keeps the address that
// each request reached. See ../web/shared-names.ts.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SeenRequest } from '../checkers/evidence.ts';
import { nameAt } from '../web/shared-names.ts';
import { steadyMs } from './harness-process.ts';

export interface SharedRequest extends SeenRequest {
  /** The address that the client connected to. */
  readonly address: string;
}

export interface SharedWeb {
  readonly seeds: readonly string[];
  /** All pages, without robots.txt. */
  readonly pages: readonly string[];
  requests(): readonly SharedRequest[];
  stop(): Promise<void>;
}

/** Minimum duration of an answer, so that two requests at once overlap in the log. */
const answerMs = 5;

export async function startShared(shape: {
  readonly hosts: number;
  readonly addresses: number;
  readonly pages: number;
}): Promise<SharedWeb> {
  const log: SharedRequest[] = [];
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const start = steadyMs();
    const { host = '', 'user-agent': by = '' } = request.headers;
    const address = request.socket.localAddress ?? '';
    const name = host.split(':')[0]!;
    const target = request.url ?? '/';
    const [, number = '', page = ''] = /^h(\d+)-.*\/(\d+)$/.exec(`${name}${target}`) ?? [];
    let writtenAt: number | undefined;
    response.on('close', () => {
      const whole = response.writableFinished;
      const end = writtenAt ?? steadyMs();
      log.push({ host: name, url: `http://${host}${target}`, by, address, start, end, whole });
    });
    const next = [urlOf(Number(number), Number(page) + 1), urlOf(Number(number) + 1, Number(page))];
    const links = Number(page) + 1 < shape.pages ? next : next.slice(1);
    const body = links.map((url) => `<a href="${url}">on</a>`).join('\n');
    const isRobots = target === '/robots.txt';
    setTimeout(() => {
      response.writeHead(200, { 'content-type': isRobots ? 'text/plain' : 'text/html' });
      // Taken before the write: a client may read the answer before the next line runs, and its
      // delay must not seem to begin later than it did.
      writtenAt = steadyMs();
      response.end(isRobots ? '' : body);
    }, answerMs);
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const urlOf = (host: number, page: number) => {
    const h = host % shape.hosts;
    return `http://${nameAt(h, `127.46.0.${(h % shape.addresses) + 1}`)}:${port}/${page}`;
  };
  const hosts = Array.from({ length: shape.hosts }, (_, h) => h);
  return {
    seeds: hosts.map((h) => urlOf(h, 0)),
    pages: hosts.flatMap((h) => Array.from({ length: shape.pages }, (_, p) => urlOf(h, p))),
    requests: () => log,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
