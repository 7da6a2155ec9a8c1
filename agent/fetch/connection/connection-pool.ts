/**
 * Keep-alive connections for http and https. Node's own agents hand a socket to the request
 * while it is still connecting, and TLS may flush a waiting request before JavaScript hears that
 * the handshake ended; these hand it over only when it is connected, judged and secured, so that
 * "the connection is ready" is one moment, the same for new and reused sockets, at which the
 * fetch right is checked. `got-fetcher.ts` gives the two agents to got.
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
  /** Idle connections kept over all hosts, each scheme; the oldest is closed for a new one. */
  readonly idleMax: number;
  /**
   * How long an idle connection is kept. Below the 5 s after which Node and Apache close theirs:
   * a request written into a closing connection is lost and costs a retry.
   */
  readonly idleMs: number;
  /** PEM of authorities trusted besides those that Node brings. */
  readonly certificateAuthority?: string;
  /** Whether a server must prove its name. */
  readonly verifyCertificates: boolean;
  /** Whether servers may choose HTTP/2. */
  readonly offerHttp2: boolean;
  /** Null: hosts are connected to directly. */
  readonly proxy: HttpProxy | null;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** What the fetcher passes along with a request: it learns here how to stop the dialing. */
export interface Dialing {
  cancelDial: (() => void) | null;
  /** The address to dial, whatever the name leads to; null: as the name says. */
  readonly address: string | null;
}

export type PooledRequestOptions = ClientRequestArgs & { dialing?: Dialing };

/**
 * What a request for HTTP/1.1 ends with where the server chose HTTP/2: nothing was written, and
 * the connection is among those of {@link ConnectionPool.http2}.
 */
export class Http2Chosen extends Error {
  override readonly name = 'Http2Chosen';
}

export interface ConnectionPool {
  readonly http: http.Agent;
  readonly https: https.Agent;
  readonly http2: Http2Sessions;
  readonly proxy: HttpProxy | null;
  close(): void;
}

/** Creates both agents; nothing is connected until a request asks. */
export function createConnectionPool(options: ConnectionPoolOptions): ConnectionPool {
  const http2 = new Http2Sessions(options);
  const pool = { http: httpAgent(options), https: httpsAgent(options, http2), http2 };
  return {
    ...pool,
    proxy: options.proxy,
    close: () => {
      pool.http.destroy();
      pool.https.destroy();
      http2.close();
    },
  };
}

type Created = (error: Error | null, socket: Duplex) => void;

/**
 * maxSockets stays unlimited: a host has one request at a time anyway, and a queue inside the
 * agent would be a second, unseen one.
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

function httpsAgent(options: ConnectionPoolOptions, http2: Http2Sessions): https.Agent {
  const { verifyCertificates, offerHttp2 } = options;
  const agent = new https.Agent({
    ...agentOptions(options),
    rejectUnauthorized: verifyCertificates,
  });
  const context = { secureContext: secureContext(options) };
  const http2Offered = { ...context, ALPNProtocols: ['h2', 'http/1.1'] };
  // Node's own adds the TLS session cache and the server name.
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
        const isOffered = offerHttp2 && http2.mayOffer(authorityOf(request));
        const tlsOptions = isOffered ? http2Offered : context;
        const wrapped = secure({ ...request, ...tlsOptions, socket } as https.RequestOptions);
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

/** Made once: reading some 150 authorities anew for each connection would take longer than it. */
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

/** Host and port as `URL.host` writes them. */
function authorityOf(request: ClientRequestArgs): string {
  const host = request.host ?? request.hostname ?? '';
  const port = Number(request.port || 443);
  const bracketed = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return port === 443 ? bracketed : `${bracketed}:${port}`;
}

type Report = (error: Error | null, socket?: Duplex) => void;

/** Waits for the handshake and the verdict on the certificate. Returns what gives up. */
function awaitSecured(secured: TLSSocket, plain: Socket, report: Report): () => void {
  let waiting = true;
  const fail = (code: 'tls' | 'aborted', message: string) => {
    // Once handed over, the connection may outlive the request that asked for it.
    if (!waiting) return;
    waiting = false;
    secured.destroy();
    plain.destroy();
    report(new DialError(code, message));
  };
  const onClose = () => fail('tls', 'connection closed during the handshake');
  secured.on('error', () => {});
  secured.once('error', (error) => fail('tls', error.message));
  secured.once('close', onClose);
  secured.once('secureConnect', () => {
    waiting = false;
    report(null, secured);
  });
  return () => fail('aborted', 'given up during the handshake');
}

function dialTarget(request: ClientRequestArgs, options: ConnectionPoolOptions, port: number) {
  return {
    hostname: request.host ?? request.hostname ?? '',
    port: Number(request.port || port),
    guard: options.guard,
    lookup: options.lookup,
    address: dialingOf(request).address,
  };
}

function dialingOf(request: PooledRequestOptions): Dialing {
  return request.dialing ?? { cancelDial: null, address: null };
}

/**
 * Passes on the first report only. On failure it also removes the empty list that Node's agent
 * leaves behind for the host: the number of hosts that do not answer has no bound.
 */
function reportOnce(
  sockets: http.Agent['sockets'],
  request: ClientRequestArgs,
  created: Created | undefined,
): Report {
  let reported = false;
  return (error, socket) => {
    if (reported) {
      return;
    }
    reported = true;
    // Node reads the socket only where there is no error.
    created?.(error, socket as Duplex);
    const name = (request as { _agentKey?: string })._agentKey;
    if (error !== null && name !== undefined && sockets[name]?.length === 0) {
      delete (sockets as Record<string, unknown>)[name];
    }
  };
}

/**
 * A request that must go to one address reuses only a connection that was dialled to that address:
 * one to another address of the same host would be refused, and its slot wasted.
 */
function keepByAddress(agent: http.Agent): void {
  const nameOf = agent.getName.bind(agent);
  agent.getName = (request?: PooledRequestOptions) => {
    const { address } = dialingOf(request ?? {});
    return address === null ? nameOf(request) : `${nameOf(request)}@${address}`;
  };
}

/** Keeps at most `max` idle connections of the agent: Node bounds them by host only. */
function boundIdle(agent: http.Agent, max: number): void {
  /** Oldest first; closed ones leave by themselves. */
  const idle = new Set<Duplex>();
  const keep = agent.keepSocketAlive.bind(agent);
  const reuse = agent.reuseSocket.bind(agent);
  function onClose(this: Duplex): void {
    idle.delete(this);
  }
  // Node heeds a false here although its declared type is void.
  agent.keepSocketAlive = (socket): boolean => {
    if (max === 0 || (keep(socket) as unknown) === false) {
      return false;
    }
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
