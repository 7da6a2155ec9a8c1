/**
 * Connections through an HTTP proxy: its address, its headers, and the tunnel that it opens for
 * https. The agent connects only to the proxy, so only the address of the proxy can be checked. The
 * user chose it, so it may be private. The address guard has already refused hosts given as address
 * literals.
 */

import http from 'node:http';
import type { Socket } from 'node:net';
import { AddressGuard } from './address-guard.ts';
import { DialError, type DialTarget, dial, type Lookup } from './dial.ts';

export interface HttpProxy {
  /** Name or address; IPv6 without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** Sent to the proxy with each request. */
  readonly headers: Readonly<Record<string, string>>;
}

type Dialed = (error: DialError | null, socket?: Socket) => void;

/** Limit on the header of the proxy's response, in bytes. The tunnel does not use it. */
const HEADER_BYTES_MAX = 16 * 1024;

/** Still refuses addresses that no proxy can have: unspecified and multicast. */
const PROXY_GUARD = new AddressGuard({ allowPrivate: true });

/** @param text an http URL that the config has validated. */
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
 * Asks the proxy for a tunnel, and reports the socket when the tunnel is open.
 *
 * @returns a function that cancels, as {@link dial} does.
 */
export function dialTunnel(
  proxy: HttpProxy,
  target: Pick<DialTarget, 'hostname' | 'port' | 'lookup'>,
  done: Dialed,
): () => void {
  let cancel = dialProxy(proxy, target.lookup, (error, socket) => {
    if (socket === undefined) {
      done(error);
    } else {
      cancel = openTunnel(proxy, target, socket, done);
    }
  });
  return () => cancel();
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
    finish(new DialError('connect_failed', `the proxy responded with status ${status}`));
  request.once('response', ({ statusCode }) => refused(statusCode));
  request.once('connect', ({ statusCode = 0 }, _socket, head) => {
    if (statusCode < 200 || statusCode > 299) {
      refused(statusCode);
      return;
    }
    // A server that speaks first is not a TLS server, but TLS reports that.
    if (head.length > 0) socket.unshift(head);
    finish(null);
  });
  request.end();
  return () => finish(new DialError('aborted', 'cancelled while the proxy was connecting'));
}
