// A page that is answered only when the test says so: while it is out, a crawl cannot be complete,
// so that what a test does meanwhile always happens during the crawl, however slow the machine is.

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** No other web of a test has it. */
const address = '127.44.0.1';

export interface Gate {
  /** To be among the seeds. */
  readonly seed: string;
  /** Answers, now and from now on. */
  open(): void;
  stop(): Promise<void>;
}

export async function startGate(): Promise<Gate> {
  let isOpen = false;
  const waiting = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    if (request.url === '/robots.txt') response.writeHead(404).end();
    else if (isOpen) response.end('open');
    else waiting.add(response);
  });
  server.listen(0, address);
  await once(server, 'listening');
  return {
    seed: `http://${address}:${(server.address() as AddressInfo).port}/`,
    open: () => {
      isOpen = true;
      for (const response of waiting) response.end('open');
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
