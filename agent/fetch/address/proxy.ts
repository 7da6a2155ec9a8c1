/**
 * Going through an HTTP proxy: where it is, what it is told, and the tunnel that it opens for
 * https. Only the proxy is connected to, so its address is what can be judged here; it is the
 * user's own choice and may be private, while hosts that are addresses are refused before
 * (`AddressGuard`). `connection-pool.ts` dials through it.
 */

import http from 'node:http';
import type { Socket } from 'node:net';
import { AddressGuard } from './address-guard.ts';
import { DialError, type DialTarget, dial, type Lookup } from './dial.ts';

export interface HttpProxy {
  /** Name or address, IPv6 without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** What the proxy is told with each request. */
  readonly headers: Readonly<Record<string, string>>;
}

type Dialed = (error: DialError | null, socket?: Socket) => void;

/** The header of a proxy's answer; the tunnel has no use for it. */
const HEADER_BYTES_MAX = 16 * 1024;

/** What no proxy can be is refused even so: the unspecified address, multicast. */
const PROXY_GUARD = new AddressGuard({ allowPrivate: true });

/** @param text an http URL, as the config has checked it. */
export function parseProxy(text: string): HttpProxy {
  const { hostname, port, username, password } = new URL(text);
  const secret = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
  return {
    hostname: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || 80),
    headers: username === '' ? {} : { 'proxy-authorization': `Basic ${secret.toString('base64')}` },
  };
}

/** Connects to the proxy; see {@link dial}. */
export function dialProxy(proxy: HttpProxy, lookup: Lookup, done: Dialed): () => void {
  const { hostname, port } = proxy;
  return dial({ hostname, port, guard: PROXY_GUARD, lookup }, done);
}

/**
 * Has the proxy open a tunnel, and reports the socket once it stands.
 *
 * @returns a function that gives up, as that of {@link dial}.
 */
export function dialTunnel(
  proxy: HttpProxy,
  target: Pick<DialTarget, 'hostname' | 'port' | 'lookup'>,
  done: Dialed,
): () => void {
  let giveUp = dialProxy(proxy, target.lookup, (error, socket) => {
    if (socket === undefined) {
      done(error);
    } else {
      giveUp = openTunnel(proxy, target, socket, done);
    }
  });
  return () => giveUp();
}

function openTunnel(
  proxy: HttpProxy,
  target: Pick<DialTarget, 'hostname' | 'port'>,
  socket: Socket,
  done: Dialed,
): () => void {
  let finished = false;
  const finish = (error: DialError | null) => {
    if (finished) return;
    finished = true;
    if (error !== null) socket.destroy();
    done(error, error === null ? socket : undefined);
  };
  const host = target.hostname.includes(':') ? `[${target.hostname}]` : target.hostname;
  const authority = `${host}:${target.port}`;
  const request = http.request({
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...proxy.headers },
    createConnection: () => socket,
    maxHeaderSize: HEADER_BYTES_MAX,
  });
  request.on('error', (error) => finish(new DialError('connect_failed', error.message, error)));
  const refused = (status: number | undefined) =>
    finish(new DialError('connect_failed', `the proxy answered ${status}`));
  request.once('response', ({ statusCode }) => refused(statusCode));
  request.once('connect', ({ statusCode = 0 }, _socket, head) => {
    if (statusCode < 200 || statusCode > 299) {
      refused(statusCode);
      return;
    }
    // A server that speaks first is no TLS server, but what it says is for TLS to judge.
    if (head.length > 0) socket.unshift(head);
    finish(null);
  });
  request.end();
  return () => finish(new DialError('aborted', 'given up at the proxy'));
}
