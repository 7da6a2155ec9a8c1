/**
 * Keep-alive connections for http and https. Node's agents assign a socket to a request while it is
 * still connecting, and TLS may write a waiting request before JavaScript learns that the handshake
 * has ended. These agents assign a socket only when it is connected, checked and secured. So "the
 * connection is ready" is one moment, the same for new and reused sockets, and the fetch right is
 * checked at that moment.
 */

import http, { type ClientRequestArgs } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import tls, { type TLSSocket } from 'node:tls';
import type { AddressGuard } from '../address/address-guard.ts';
import { DialError, dial, type Lookup } from '../address/dial.ts';
import { dialProxy, dialTunnel, type HttpProxy } from '../address/proxy.ts';
import { Http2Sessions } from './http2-sessions.ts';

export interface ConnectionPoolOptions {
  readonly guard: AddressGuard;
  readonly lookup: Lookup;
  /** Limit on connecting, in ms. */
  readonly connectMs: number;
  /**
   * Maximum number of idle connections per scheme, over all hosts. Beyond it the oldest is closed.
   */
  readonly idleMax: number;
  /**
   * Time in ms after which an idle connection is closed. It should be below the 5 s after which
   * Node and Apache servers close theirs: a request written to a closing connection is lost and
   * costs a retry.
   */
  readonly idleMs: number;
  /** PEM of certificate authorities trusted in addition to those of Node. */
  readonly certificateAuthority?: string;
  /** Whether server certificates are verified. */
  readonly verifyCertificates: boolean;
  /** Whether https servers may choose HTTP/2. */
  readonly offerHttp2: boolean;
  /** Null: connections are direct. */
  readonly proxy: HttpProxy | null;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** Passed with a request to its agent. The agent stores the function that cancels the dial. */
export interface Dialing {
  cancelDial: (() => void) | null;
  /** The address to dial, whatever the name resolves to; null: resolve the name. */
  readonly address: string | null;
}

export type PooledRequestOptions = ClientRequestArgs & { dialing?: Dialing };

/**
 * Error of an HTTP/1.1 request when the server chose HTTP/2. Nothing was written, and {@link
 * ConnectionPool.http2} has the connection.
 */
export class Http2Chosen extends Error {
  override readonly name = 'Http2Chosen';
}

/** Hosts remembered at most by each {@link RecentHosts}. */
const HOSTS_MAX = 10_000;
/** Time in ms for which a host that demanded HTTP/1.1 is not offered HTTP/2. */
const HTTP1_ONLY_MS = 3_600_000;
/**
 * Time in ms after a repeat for which no connection to the host is used again and no request is
 * repeated at once. Some servers read each request on a used connection and refuse it or close: a
 * repeat ignores the delay of the host, so it must not happen with each page.
 */
const REPEATED_MS = 600_000;

/** Hosts that did something a short time ago. Beyond {@link HOSTS_MAX} the oldest is forgotten. */
export class RecentHosts {
  readonly #keepMs: number;
  readonly #now: () => number;
  /** By authority, when the host is forgotten; oldest first. */
  readonly #until = new Map<string, number>();

  constructor(keepMs: number, now: () => number) {
    this.#keepMs = keepMs;
    this.#now = now;
  }

  /** @param authority - as in `URL.host` */
  add(authority: string): void {
    this.#until.delete(authority);
    this.#until.set(authority, this.#now() + this.#keepMs);
    if (this.#until.size <= HOSTS_MAX) return;
    const [oldest] = this.#until.keys();
    this.#until.delete(oldest!);
  }

  has(authority: string): boolean {
    const until = this.#until.get(authority);
    return until !== undefined && until > this.#now();
  }
}

export interface ConnectionPool {
  readonly http: http.Agent;
  readonly https: https.Agent;
  readonly http2: Http2Sessions;
  /** They demanded HTTP/1.1: HTTP/2 is not offered to them. */
  readonly http1Only: RecentHosts;
  /** A request to them was repeated: each gets a new connection, and none is repeated. */
  readonly repeated: RecentHosts;
  readonly proxy: HttpProxy | null;
  close(): void;
}

/** Creates both agents. They open no connection before the first request. */
export function createConnectionPool(options: ConnectionPoolOptions): ConnectionPool {
  const http2 = new Http2Sessions(options);
  const http1Only = new RecentHosts(HTTP1_ONLY_MS, options.now);
  const agents = { http: httpAgent(options), https: httpsAgent(options, http2, http1Only) };
  return {
    ...agents,
    http2,
    http1Only,
    repeated: new RecentHosts(REPEATED_MS, options.now),
    proxy: options.proxy,
    close: () => {
      agents.http.destroy();
      agents.https.destroy();
      http2.close();
    },
  };
}

type Created = (error: Error | null, socket: Duplex) => void;

/**
 * maxSockets is unlimited: a host has one request at a time, and a queue inside the agent would be
 * invisible to the crawler.
 */
function agentOptions(options: ConnectionPoolOptions): http.AgentOptions {
  return { keepAlive: true, maxFreeSockets: 1, timeout: options.idleMs, scheduling: 'lifo' };
}

function httpAgent(options: ConnectionPoolOptions): http.Agent {
  const agent = new http.Agent(agentOptions(options));
  agent.createConnection = (request, created) => {
    const report = reportOnce(agent.sockets, request, created);
    const { proxy, lookup } = options;
    dialingOf(request).cancelDial =
      proxy === null
        ? dial(dialTarget(request, options, 80), report)
        : dialProxy(proxy, lookup, report);
    return undefined;
  };
  keepByAddress(agent);
  boundIdle(agent, options.idleMax);
  return agent;
}

function httpsAgent(
  options: ConnectionPoolOptions,
  http2: Http2Sessions,
  http1Only: RecentHosts,
): https.Agent {
  const { verifyCertificates, offerHttp2 } = options;
  const agent = new https.Agent({
    ...agentOptions(options),
    rejectUnauthorized: verifyCertificates,
  });
  const context = { secureContext: secureContext(options) };
  const http2Offered = { ...context, ALPNProtocols: ['h2', 'http/1.1'] };
  // Node's own function adds the TLS session cache and the server name.
  const secure = agent.createConnection.bind(agent);
  agent.createConnection = (request: https.RequestOptions, created?: Created) => {
    const report = reportOnce(agent.sockets, request, created);
    const dialing = dialingOf(request);
    const onSecured: Report = (error, socket) => {
      const secured = socket as TLSSocket | undefined;
      if (secured?.alpnProtocol !== 'h2') {
        report(error, secured);
        return;
      }
      http2.adopt(authorityOf(request), secured);
      report(new Http2Chosen('the server chose HTTP/2'));
    };
    dialing.cancelDial = dialSecure(request, options, (error, socket) => {
      if (socket === undefined) {
        report(error);
        return;
      }
      try {
        const isOffered = offerHttp2 && !http1Only.has(authorityOf(request));
        const tlsOptions = isOffered ? http2Offered : context;
        // The name has no trailing dot (RFC 6066, section 3); some servers refuse one.
        const servername = (request as { servername?: string }).servername?.replace(/\.$/, '');
        const secured = { ...request, ...tlsOptions, servername, socket };
        const wrapped = secure(secured as https.RequestOptions);
        dialing.cancelDial = awaitSecured(wrapped as TLSSocket, socket, onSecured);
      } catch (error) {
        socket.destroy();
        report(new DialError('tls', String(error), error));
      }
    });
    return undefined;
  };
  keepByAddress(agent);
  boundIdle(agent, options.idleMax);
  return agent;
}

/** Created once: reading some 150 certificate authorities takes longer than a connection. */
function secureContext({ certificateAuthority }: ConnectionPoolOptions): tls.SecureContext {
  if (certificateAuthority === undefined) return tls.createSecureContext();
  return tls.createSecureContext({ ca: [...tls.rootCertificates, certificateAuthority] });
}

function dialSecure(
  request: ClientRequestArgs,
  options: ConnectionPoolOptions,
  done: (error: DialError | null, socket?: Socket) => void,
): () => void {
  const target = dialTarget(request, options, 443);
  return options.proxy === null ? dial(target, done) : dialTunnel(options.proxy, target, done);
}

/** @returns host and port in the form of `URL.host`. */
function authorityOf(request: ClientRequestArgs): string {
  const host = request.host ?? request.hostname ?? '';
  const port = Number(request.port || 443);
  const bracketed = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return port === 443 ? bracketed : `${bracketed}:${port}`;
}

type Report = (error: Error | null, socket?: Duplex) => void;

/**
 * Waits for the TLS handshake, which includes the check of the certificate.
 *
 * @returns a function that cancels the wait.
 */
function awaitSecured(secured: TLSSocket, plain: Socket, report: Report): () => void {
  let waiting = true;
  const fail = (code: 'tls' | 'aborted', message: string) => {
    // A connection that is in use may outlive the request that opened it.
    if (!waiting) return;
    waiting = false;
    secured.destroy();
    plain.destroy();
    report(new DialError(code, message));
  };
  const onClose = () => fail('tls', 'connection closed during the TLS handshake');
  secured.on('error', () => {});
  secured.once('error', (error) => fail('tls', error.message));
  secured.once('close', onClose);
  secured.once('secureConnect', () => {
    waiting = false;
    report(null, secured);
  });
  return () => fail('aborted', 'cancelled during the TLS handshake');
}

function dialTarget(request: ClientRequestArgs, options: ConnectionPoolOptions, port: number) {
  return {
    hostname: request.host ?? request.hostname ?? '',
    port: Number(request.port || port),
    guard: options.guard,
    lookup: options.lookup,
    connectMs: options.connectMs,
    address: dialingOf(request).address,
  };
}

function dialingOf(request: PooledRequestOptions): Dialing {
  return request.dialing ?? { cancelDial: null, address: null };
}

/**
 * Passes on the first report only. On failure it also removes the empty list that Node's agent
 * keeps for the host; these lists would otherwise grow with each host that does not respond.
 */
function reportOnce(
  sockets: http.Agent['sockets'],
  request: ClientRequestArgs,
  created: Created | undefined,
): Report {
  let reported = false;
  return (error, socket) => {
    if (reported) return;
    reported = true;
    // Node reads the socket only if there is no error.
    created?.(error, socket as Duplex);
    const name = (request as { _agentKey?: string })._agentKey;
    if (error !== null && name !== undefined && sockets[name]?.length === 0) {
      delete (sockets as Record<string, unknown>)[name];
    }
  };
}

/**
 * Separates idle connections by address. A request bound to an address would be refused on a
 * connection to another address of its host, and would waste its address permit.
 */
function keepByAddress(agent: http.Agent): void {
  const nameOf = agent.getName.bind(agent);
  agent.getName = (request?: PooledRequestOptions) => {
    const { address } = dialingOf(request ?? {});
    return address === null ? nameOf(request) : `${nameOf(request)}@${address}`;
  };
}

/** Keeps at most `max` idle connections. Node limits them per host only. */
function boundIdle(agent: http.Agent, max: number): void {
  /** Oldest first. Filled by `keepSocketAlive`, emptied by reuse and `onClose`; limit: `max`. */
  const idle = new Set<Duplex>();
  const keep = agent.keepSocketAlive.bind(agent);
  const reuse = agent.reuseSocket.bind(agent);
  function onClose(this: Duplex): void {
    idle.delete(this);
  }
  // Node respects the result false, although the declared type is void.
  agent.keepSocketAlive = (socket): boolean => {
    if (max === 0 || (keep(socket) as unknown) === false) return false;
    idle.add(socket);
    socket.once('close', onClose);
    if (idle.size > max) {
      const [oldest] = idle;
      oldest?.destroy();
    }
    return true;
  };
  agent.reuseSocket = (socket, request) => {
    idle.delete(socket);
    socket.off('close', onClose);
    reuse(socket, request);
  };
}
