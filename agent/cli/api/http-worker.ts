// The process that serves HTTP, so that no request delays a turn of the agent. It ends with the process
// that has started it. The first request loads the code for responses, because most crawls get no
// request. Each limit exists because a client may be slow, hostile or many.

import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { API } from '../http/api-prefix.ts';
import { HttpProblem } from '../http/http-problem.ts';
import type { FromHttp, HttpStatuses, HttpWork, ToHttp } from '../http/http-process.ts';
import type { Site } from './site.ts';

/** Ports that are tried after a given one, for several agents of one machine. */
const PORTS_MAX = 64;
const CONNECTIONS_MAX = 512;
/** Kept free for new clients. */
const CONNECTIONS_FREE = 64;
/** An identifier of the event stream names all agents, of which there may be 1,024. */
const HEADER_BYTES_MAX = 32 * 1024;
const HEADERS_MS_MAX = 10_000;
const REQUEST_MS_MAX = 15_000;
/** A client that reuses a connection at the moment of its end gets no answer. */
const KEPT_MS = 60_000;
/** Connections beyond these times are looked for so often. */
const LOOK_MS = 2000;
/** Requests of one connection that wait for the answers to earlier ones; browsers send none. */
const WAITING_MAX = 16;
/** The time to read the last answer before the process ends. */
const LAST_ANSWER_MS = 1000;
/** The time to tell the dashboards that the crawl is complete, which an agent records at its end. */
const LAST_STATE_MS = 500;

const tell = (message: FromHttp) => process.send?.(message);
const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

let site: Promise<Site> | null = null;
let made: Site | null = null;
let listening: Server | null = null;
/** The latest statuses, until there is a site. */
let latest: HttpStatuses | null = null;

async function newSite({ config, tokens, version }: HttpWork): Promise<Site> {
  const { siteOf } = await import('./site.ts');
  const onError = (error: unknown) => tell({ type: 'error', message: textOf(error) });
  made = siteOf({ config, tokens, version, onError });
  if (latest) made.noteStatuses(latest);
  return made;
}

const limits = {
  ...{ maxHeaderSize: HEADER_BYTES_MAX, headersTimeout: HEADERS_MS_MAX },
  ...{ requestTimeout: REQUEST_MS_MAX, connectionsCheckingInterval: LOOK_MS },
  keepAliveTimeout: KEPT_MS,
};
function serverOf(work: HttpWork): Server {
  const server = createServer(limits, (request, response) => {
    takeTurn(request.socket, response, () => {
      site ??= newSite(work);
      site.then(
        (one) => one.serve(request, response).then(() => endIfLost(one, response)),
        (error: unknown) => {
          tell({ type: 'error', message: textOf(error) });
          response.destroy();
        },
      );
    });
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.on('connection', (socket) => makeRoom(server, socket));
  server.on('clientError', refuseUnread);
  return server;
}

interface Turn {
  readonly response: ServerResponse;
  readonly serve: () => void;
}

/**
 * The requests of each connection that is being answered, filled by the client and emptied as it
 * reads. Without an order, one client could have thousands of requests served at the same time.
 */
const turns = new WeakMap<Socket, Turn[]>();

function takeTurn(socket: Socket, response: ServerResponse, serve: () => void): void {
  idle.delete(socket);
  const waiting = turns.get(socket);
  if (waiting === undefined) {
    turns.set(socket, []);
    begin(socket, { response, serve });
  } else if (waiting.length < WAITING_MAX) waiting.push({ response, serve });
  else refuse(response);
}

function begin(socket: Socket, { response, serve }: Turn): void {
  response.once('close', () => {
    const next = socket.destroyed ? undefined : turns.get(socket)?.shift();
    if (next) return begin(socket, next);
    turns.delete(socket);
    if (!socket.destroyed) idle.add(socket);
  });
  serve();
}

/** The answer follows those to the earlier requests, and the connection is closed after it. */
function refuse(response: ServerResponse): void {
  const detail = `${WAITING_MAX} requests wait on this connection already`;
  const { document } = new HttpProblem(503, 'connection-busy', detail, 'read the answers first');
  response.writeHead(503, { 'content-type': 'application/problem+json', connection: 'close' });
  response.end(`${JSON.stringify(document)}\n`);
}

/** What Node's parser refuses, with the status that Node would give; another code is 400. */
const UNREAD: Readonly<Record<string, readonly [status: number, why: string]>> = {
  HPE_HEADER_OVERFLOW: [431, `the head is longer than ${HEADER_BYTES_MAX} bytes`],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'the chunk extensions are too long'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not arrive in time'],
};

/** The request reaches no handler. Bytes in an answer to an earlier request would damage it. */
function refuseUnread(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET' || turns.has(socket as Socket)) {
    return void socket.destroy();
  }
  const [status, why] = UNREAD[error.code ?? ''] ?? [400, 'the request is not valid HTTP'];
  const remedy = `send a request as ${API}/openapi.json describes it`;
  const { document } = new HttpProblem(status, 'request-unread', why, remedy);
  const body = `${JSON.stringify(document)}\n`;
  socket.end(
    `HTTP/1.1 ${status} ${document.title}\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

/** Another process is started, and it has all its sockets. */
function endIfLost({ failure }: Site, response: ServerResponse): void {
  if (failure === null) return;
  const end = () => {
    const message: FromHttp = { type: 'error', message: failure };
    process.send?.(message, () => process.kill(process.pid, 'SIGKILL'));
  };
  if (response.closed) return end();
  response.once('close', end);
  setTimeout(end, LAST_ANSWER_MS);
}

/** Connections without a request, those that wait longest first. */
const idle = new Set<Socket>();

/** Closes idle connections when few are left, so that many of them keep nobody out. */
function makeRoom(server: Server, socket: Socket): void {
  idle.add(socket);
  socket.once('close', () => idle.delete(socket));
  server.getConnections((_, open) => {
    const surplus = open - (CONNECTIONS_MAX - CONNECTIONS_FREE);
    for (const one of [...idle].slice(0, Math.max(surplus, 0))) {
      idle.delete(one);
      one.destroy();
    }
  });
}

/** @returns the port; rejects with the error of the system */
function listenAt(server: Server, host: string, at: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port: at, exclusive: true }, () => {
      server.removeListener('error', reject);
      listening = server;
      server.on('error', (error) => tell({ type: 'error', message: error.message }));
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : at);
    });
  });
}

async function listen(work: HttpWork): Promise<number> {
  const { host, port } = work;
  const server = serverOf(work);
  for (let at = port; ; at++) {
    try {
      return await listenAt(server, host, at);
    } catch (error) {
      const isLast = port === 0 || at + 1 >= port + PORTS_MAX || at >= 65_535;
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || isLast) throw error;
    }
  }
}

async function serve(work: HttpWork): Promise<void> {
  try {
    tell({ type: 'listening', port: await listen(work) });
  } catch (error) {
    tell({ type: 'failed', message: textOf(error) });
  }
}

process.on('message', (message: ToHttp) => {
  if (message.type === 'serve') return void serve(message);
  latest = message;
  made?.noteStatuses(message);
});
// Ctrl-C in a terminal reaches all processes of a launch, which decides when this one ends.
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
process.on('disconnect', () => {
  // The next launch may listen at the same port.
  listening?.close();
  made?.close();
  // At once: sockets to agents may be open, and nothing here need be kept.
  const end = () => process.kill(process.pid, 'SIGKILL');
  if (made === null) return end();
  setTimeout(end, LAST_STATE_MS);
  made.end().then(end, end);
});
