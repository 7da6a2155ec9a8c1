// The thread that serves HTTP, so that no request delays a turn of the agent. What the responses need
// is loaded with the first request, because most crawls get none. Each limit exists because a client
// may be slow, hostile or many.

import { createServer } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import type { AgentStatus } from '../../monitor/agent-status.ts';
import type { FromHttp, HttpWork, ToHttp } from '../http/http-thread.ts';
import type { Site } from './site.ts';

/** Ports that are tried after a given one, for several agents of one machine. */
const PORTS_MAX = 64;
const CONNECTIONS_MAX = 512;
const HEADER_BYTES_MAX = 16 * 1024;
const HEADERS_MS_MAX = 10_000;
const REQUEST_MS_MAX = 30_000;

const { config, host, port, tokens, version } = workerData as HttpWork;
const tell = (message: FromHttp) => parentPort!.postMessage(message);
const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

let site: Promise<Site> | null = null;
/** The latest statuses, until there is a site. */
let statuses: readonly AgentStatus[] = [];

async function newSite(): Promise<Site> {
  const { siteOf } = await import('./site.ts');
  const onError = (error: unknown) => tell({ type: 'error', message: textOf(error) });
  const made = siteOf({ config, tokens, version, onError });
  made.noteStatuses(statuses);
  return made;
}

const limits = {
  ...{ maxHeaderSize: HEADER_BYTES_MAX, headersTimeout: HEADERS_MS_MAX },
  requestTimeout: REQUEST_MS_MAX,
};
const server = createServer(limits, (request, response) => {
  site ??= newSite();
  site.then(
    (made) => made.serve(request, response),
    (error: unknown) => {
      tell({ type: 'error', message: textOf(error) });
      response.destroy();
    },
  );
});
server.maxConnections = CONNECTIONS_MAX;

/** @returns the port; rejects with the error of the system */
function listenAt(at: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port: at, exclusive: true }, () => {
      server.removeListener('error', reject);
      server.on('error', (error) => tell({ type: 'error', message: error.message }));
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : at);
    });
  });
}

async function listen(): Promise<number> {
  for (let at = port; ; at++) {
    try {
      return await listenAt(at);
    } catch (error) {
      const isLast = port === 0 || at + 1 >= port + PORTS_MAX || at >= 65_535;
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || isLast) throw error;
    }
  }
}

parentPort!.on('message', (message: ToHttp) => {
  ({ statuses } = message);
  void site?.then((made) => made.noteStatuses(statuses));
});
try {
  tell({ type: 'listening', port: await listen() });
} catch (error) {
  tell({ type: 'failed', message: textOf(error) });
}
