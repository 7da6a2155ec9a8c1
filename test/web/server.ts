// Serves a synthetic web on loopback: one listening socket for all hosts, told apart by the address
// of the connection. It logs each request for the judge. Tests and the demo start it in their own
// process; it also runs as a program:
// node test/web/server.ts --hosts 40 --pages 30 --seed 1 --port 8780 --log requests.jsonl
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { AddressInfo, Server, Socket } from 'node:net';
import { type Answer, answerOf } from './answer.ts';
import { credentialsFor } from './certificate.ts';
import { plainTarget, SyntheticWeb } from './model.ts';
import { optionsFromArguments, type PartialWebOptions, usage } from './options.ts';
import { type LoggedRequest, RequestLog } from './request-log.ts';

export interface RunningWeb {
  /** The served web, with its real port. */
  readonly web: SyntheticWeb;
  /** First page of the first host. Every page can be reached from it. */
  readonly seed: string;
  /** PEM that clients must trust; null without TLS. */
  readonly certificate: string | null;
  /** HTTP versions of the requests so far: `1.1`, `2.0`. */
  versions(): readonly string[];
  /** The requests that have ended. */
  requests(): readonly LoggedRequest[];
  /** Closes every connection, then the log. */
  stop(): Promise<void>;
}

/** Interval of writes of the log to its file. */
const flushEveryMs = 250;
/** Longer than any politeness delay of a test, so that the server closes no kept connection. */
const keepAliveMs = 60_000;
/** Connections that wait to be accepted: a cluster opens one for every host at once. */
const backlog = 4_096;
/** The address at which the server reports its own state. No host of a web has it. */
const ownAddress = '127.0.0.1';

/**
 * Starts to serve on every loopback address. Rejects if the port is in use.
 *
 * @param options - port 0 selects a free port, which is then in `web.options.port`
 * @param file - where to log requests as JSON lines, in addition to memory
 */
export async function startWeb(
  options: PartialWebOptions = {},
  file?: string,
): Promise<RunningWeb> {
  const wanted = new SyntheticWeb(options);
  const { server, certificate } = serverOf(wanted);
  const connections = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    // The socket listens at all addresses, because a web has thousands of loopback addresses.
    if (!socket.localAddress?.startsWith('127.')) return void socket.destroy();
    connections.add(socket);
    socket.on('error', ignore).once('close', () => connections.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(error, wanted.options.port)));
    server.listen(wanted.options.port, '0.0.0.0', backlog, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const web = new SyntheticWeb({ ...options, port });
  const log = new RequestLog(file);
  const service = new Service(web, log);
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    service.serve(request, response);
  });
  const flushing = setInterval(() => log.flush(), flushEveryMs).unref();
  return {
    web,
    seed: `${web.origin(0)}/`,
    certificate,
    versions: () => [...service.versions].sort(),
    requests: () => log.entries(),
    stop: async () => {
      clearInterval(flushing);
      await closed(server, connections);
      log.close();
    },
  };
}

/** With TLS the client chooses HTTP/2 or HTTP/1.1. The content is the same. */
function serverOf(web: SyntheticWeb): { server: Server; certificate: string | null } {
  if (!web.options.tls) {
    return { server: createServer({ keepAliveTimeout: keepAliveMs }), certificate: null };
  }
  const addresses = Array.from({ length: web.options.hosts }, (_, i) => web.address(i));
  const { certificate, key } = credentialsFor([ownAddress, ...addresses]);
  const http1Options = { keepAliveTimeout: keepAliveMs };
  const server = createSecureServer({ key, cert: certificate, allowHTTP1: true, http1Options });
  return { server: server.on('sessionError', ignore), certificate };
}

/** A client that breaks a connection was killed. */
function ignore(): void {}

function closed(server: Server, connections: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    for (const socket of connections) socket.destroy();
  });
}

class Service {
  readonly versions = new Set<string>();
  readonly #web: SyntheticWeb;
  readonly #log: RequestLog;
  /** Number of answers for each flaky page. */
  readonly #earlier = new Map<string, number>();
  #open = 0;
  #ended = 0;

  constructor(web: SyntheticWeb, log: RequestLog) {
    this.#web = web;
    this.#log = log;
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    const startMs = nowMs();
    const address = request.socket.localAddress ?? '';
    const client = request.socket.remoteAddress ?? '';
    const path = request.url ?? '/';
    if (address === ownAddress) {
      this.#aboutItself(response);
      return;
    }
    this.versions.add(request.httpVersion);
    this.#open++;
    let over = false;
    const end = (status: number, endMs: number) => {
      if (over) return;
      over = true;
      this.#open--;
      const userAgent = request.headers['user-agent'] ?? '';
      this.#ended++;
      this.#log.add({ host: address, path, startMs, endMs, status, userAgent, client });
    };
    response.on('close', () => end(response.writableFinished ? response.statusCode : 0, nowMs()));
    const answer = this.#answer(address, path);
    const waitMs = Math.max(answer.waitMs, this.#web.options.answerMs);
    if (waitMs === 0) {
      send(request, response, answer, end);
      return;
    }
    const waiting = setTimeout(() => send(request, response, answer, end), waitMs);
    response.on('close', () => clearTimeout(waiting));
  }

  #answer(address: string, path: string): Answer {
    const host = this.#web.hostOf(address);
    const place = this.#web.place(host, path);
    if (place?.kind !== 'page' || this.#web.kind(host, place.page) !== 'flaky') {
      return answerOf(this.#web, host, path, 0);
    }
    const key = `${host} ${plainTarget(path)}`;
    const earlier = this.#earlier.get(key) ?? 0;
    this.#earlier.set(key, earlier + 1);
    return answerOf(this.#web, host, path, earlier);
  }

  /**
   * `GET http://127.0.0.1:port/`: the progress of a crawl, for callers that wait for a share of it.
   */
  #aboutItself(response: ServerResponse): void {
    const progress = { requests: this.#ended, open: this.#open, pid: process.pid };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(progress));
  }
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  answer: Answer,
  end: (status: number, endMs: number) => void,
): void {
  if (response.destroyed) return;
  response.writeHead(answer.status, {
    ...answer.headers,
    'content-length': answer.body.byteLength,
  });
  // Taken before the write: a client may read the answer before the next line runs, and its delay
  // must not seem to begin later than it did.
  const writeMs = nowMs();
  response.end(request.method === 'HEAD' ? undefined : answer.body);
  // Encrypted data is confirmed some turns later, when a client may have read it long ago. Pages
  // are small enough for the system to take them at once.
  const isSecure = 'encrypted' in request.socket;
  const written = isSecure || (response.socket?.writableLength ?? 0) === 0;
  if (written) end(answer.status, writeMs);
  else response.once('finish', () => end(answer.status, nowMs()));
}

/** A steady clock on which processes of one machine agree well enough. */
function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

function listenError(error: NodeJS.ErrnoException, port: number): Error {
  if (error.code !== 'EADDRINUSE') return error;
  return new Error(`port ${port} is in use; end the program that listens there`, { cause: error });
}

async function main(): Promise<void> {
  let running: RunningWeb;
  try {
    const parsed = optionsFromArguments(process.argv.slice(2));
    if (parsed.help) return void process.stdout.write(usage);
    running = await startWeb(parsed.web, parsed.log);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 2;
    return;
  }
  const { hosts } = running.web.options;
  const urls = running.web.expected().must.size;
  process.stdout.write(`synthetic web: ${hosts} hosts, ${urls} URLs, first ${running.seed}\n`);
  const stop = () => void running.stop().then(() => process.exit(0));
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

if (import.meta.main) await main();
