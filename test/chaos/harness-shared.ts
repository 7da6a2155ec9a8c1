// A web whose hosts share few addresses: `h0-46-0-1.shared.test` to `h19-46-0-2.shared.test`, on
// 127.46.0.1 and its neighbours as the name says, told apart by the Host header. Each host is a
// chain of pages, and each page names a page of the next host. Requests are noted with the address
// that they came to. See ../web/shared-names.ts.

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
  /** Every page, robots.txt apart. */
  readonly pages: readonly string[];
  requests(): readonly SharedRequest[];
  stop(): Promise<void>;
}

/** Each answer takes so long, so that two at once would overlap in the log. */
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
      // Before the write: a client may have read the answer before the next line here runs, and its
      // delay must not seem to have begun later than it did.
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
