// The address of the HTTP server of an agent (`monitor.listen`): `HOST:PORT`.

import { isIP, isIPv6 } from 'node:net';

export interface ListenAddress {
  /** An IP address without brackets, or `localhost`. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

/** @returns null if the text is not `HOST:PORT` with an IP address, in brackets if it is IPv6 */
export function parseListenAddress(text: string): ListenAddress | null {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port > 65_535) return null;
  const isHost = bracketed === undefined ? isIP(host) === 4 || host === 'localhost' : isIPv6(host);
  return isHost ? { host, port } : null;
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^(::ffff:)?127\.\d+\.\d+\.\d+$/.test(host);
}
