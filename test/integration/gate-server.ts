// A server whose page is answered only after the test opens the gate. The crawl cannot complete
// before that, so the actions of the test happen during the crawl even on a slow machine.

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The web of no other test uses this address. */
const address = '127.44.0.1';

export interface Gate {
  /** The URL of the page, which must be a seed. */
  readonly seed: string;
  /** Answers the waiting requests and all later ones. */
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
