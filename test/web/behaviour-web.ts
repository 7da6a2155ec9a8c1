// Servers with named behaviours. Each has its own host, which is a loopback address, on one common
// free port, and a log for judging a crawl. Hosts whose behaviour writes raw bytes use a plain TCP
// server.

import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import tls from 'node:tls';
import {
  type Answer,
  type Asked,
  type Behaviour,
  type BehaviourName,
  behaviour,
  bytesOf,
  drip,
} from './behaviours.ts';
import { type Credentials, credentialsFor } from './certificate.ts';
import { nameAt } from './shared-names.ts';

/** A request. Times are those of `performance.now()`. */
export interface BehaviourVisit {
  readonly path: string;
  readonly status: number;
  readonly startMs: number;
  /** When the last byte was handed to the socket; null until then. */
  endMs: number | null;
  /** Time after the end during which no request may arrive. */
  readonly waitMs: number;
}

export interface BehaviourHost {
  readonly name: BehaviourName;
  /** The address, or the name if all hosts share one address. */
  readonly hostname: string;
  readonly origin: string;
  readonly behaviour: Behaviour;
  /** In the order of arrival. */
  readonly log: readonly BehaviourVisit[];
}

/** How clients reach the hosts. */
export interface Reach {
  /** `h2`: HTTP/2 by ALPN, unless the behaviour writes raw bytes. */
  readonly over: 'http' | 'https' | 'h2';
  /** All hosts have one address and different ports, so agents must resolve their names. */
  readonly sharesAddress: boolean;
}

type Server = net.Server | http2.Http2SecureServer;

export class BehaviourWeb {
  readonly hosts: readonly BehaviourHost[];
  /** PEM of the certificate authority of https hosts; null for http. */
  readonly authority: string | null;
  readonly #servers: readonly Server[];
  readonly #sockets: ReadonlySet<net.Socket>;

  private constructor(
    hosts: readonly BehaviourHost[],
    authority: string | null,
    servers: readonly Server[],
    sockets: ReadonlySet<net.Socket>,
  ) {
    this.hosts = hosts;
    this.authority = authority;
    this.#servers = servers;
    this.#sockets = sockets;
  }

  /** @param network - the first three bytes of the addresses, such as `127.57.0` */
  static async start(
    network: string,
    names: readonly BehaviourName[],
    { over, sharesAddress }: Reach = { over: 'http', sharesAddress: false },
  ): Promise<BehaviourWeb> {
    const hosts: BehaviourHost[] = [];
    const servers: Server[] = [];
    const sockets = new Set<net.Socket>();
    const addresses = names.map((_, k) => `${network}.${sharesAddress ? 1 : k + 1}`);
    const credentials = over === 'http' ? null : credentialsFor(addresses);
    let port = 0;
    for (const [k, name] of names.entries()) {
      const served = new Served(behaviour(name));
      const server = served.server(credentials, over === 'h2');
      server.on('connection', (socket: net.Socket) => {
        sockets.add(socket);
        socket.on('error', () => {}).on('close', () => sockets.delete(socket));
      });
      const address = addresses[k]!;
      server.listen(sharesAddress ? 0 : port, address);
      await once(server, 'listening');
      servers.push(server);
      port = (server.address() as AddressInfo).port;
      const hostname = sharesAddress ? nameAt(k, address) : address;
      served.origin = `${credentials ? 'https' : 'http'}://${hostname}:${port}`;
      const { behaviour: odd, log, origin } = served;
      hosts.push({ name, hostname, origin, behaviour: odd, log });
    }
    return new BehaviourWeb(hosts, credentials?.certificate ?? null, servers, sockets);
  }

  stop(): void {
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** One host. */
class Served {
  readonly behaviour: Behaviour;
  readonly log: BehaviourVisit[] = [];
  origin = '';

  constructor(served: Behaviour) {
    this.behaviour = served;
  }

  server(credentials: Credentials | null, isHttp2: boolean): Server {
    const { closesAfterMs } = this.behaviour;
    const pem = credentials && { cert: credentials.certificate, key: credentials.key };
    if (closesAfterMs !== undefined) {
      const serve = (socket: net.Socket) => this.#serveBytes(socket, closesAfterMs);
      return pem ? tls.createServer(pem, serve) : net.createServer(serve);
    }
    const serve: http.RequestListener = (request, response) => this.#serve(request, response);
    // The server must not close idle connections first: that is a separate behaviour.
    const options = { keepAliveTimeout: 60_000 };
    if (pem === null) return http.createServer(options, serve);
    if (isHttp2) {
      // Node's compatibility layer provides the objects that are used here.
      const compatible = serve as unknown as Parameters<typeof http2.createSecureServer>[1];
      return http2.createSecureServer({ ...pem, allowHTTP1: true }, compatible);
    }
    return https.createServer({ ...options, ...pem }, serve);
  }

  #serve(request: http.IncomingMessage, response: http.ServerResponse): void {
    const { answer, visit } = this.#ask(request.url ?? '', request.headers.cookie ?? '');
    if (answer.cutAfterBytes !== undefined) return cut(answer, visit, response);
    void drip(answer, (part) => {
      if (!response.headersSent) response.writeHead(answer.status, answer.headers);
      response.write(part);
    }).then(() => {
      visit.endMs = performance.now();
      response.end();
    });
  }

  #ask(path: string, cookie: string): { answer: Answer; visit: BehaviourVisit } {
    const startMs = performance.now();
    const times = 1 + this.log.filter((visit) => visit.path === path).length;
    const asked: Asked = { path, cookie, times, origin: this.origin, earlier: this.log.length };
    const answer = this.behaviour.answer(asked);
    const { status, waitMs = 0 } = answer;
    const visit: BehaviourVisit = { path, status, startMs, endMs: null, waitMs };
    this.log.push(visit);
    return { answer, visit };
  }

  #serveBytes(socket: net.Socket, closesAfterMs: number): void {
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      // Requests after the server closed its side are neither served nor logged.
      if (socket.writableEnded) return;
      received += text;
      for (;;) {
        const end = received.indexOf('\r\n\r\n');
        if (end === -1) return;
        const path = received.split(' ', 2)[1] ?? '';
        const cookie = /\r\ncookie: (.*)\r\n/i.exec(received)?.[1] ?? '';
        received = received.slice(end + 4);
        const { answer, visit } = this.#ask(path, cookie);
        socket.write(bytesOf(answer));
        visit.endMs = performance.now();
        setTimeout(() => socket.end(), closesAfterMs).unref();
      }
    });
  }
}

function cut(answer: Answer, visit: BehaviourVisit, response: http.ServerResponse): void {
  const body = Buffer.from(answer.body ?? '');
  response.writeHead(answer.status, { ...answer.headers, 'content-length': body.length });
  response.write(body.subarray(0, answer.cutAfterBytes), () => {
    visit.endMs = performance.now();
    if (response instanceof http2.Http2ServerResponse) {
      response.stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
    } else response.socket?.destroy();
  });
}
