// What `listen` may be, and why binding it failed, told apart so that the user learns what to do:
// another process has the port, the address is another machine's, or the text is no endpoint. The
// text is judged here before libzmq sees it, because libzmq takes `tcp://127.0.0.1:99999` and
// `…:1x` and binds some other port. Called by `transport.ts`.

import { isIPv4, isIPv6 } from 'node:net';

/** `loopback`: only processes of this machine can reach it, so commands may be believed. */
export interface Endpoint {
  /** What to give to libzmq. */
  readonly text: string;
  readonly loopback: boolean;
  readonly ipv6: boolean;
}

export type BindFailure = {
  readonly ok: false;
  readonly code: 'port_in_use' | 'bad_endpoint' | 'not_local';
  readonly message: string;
};

const TCP = /^tcp:\/\/(\[[^\]\s]+\]|[^\s:;[\]]+):(\d{1,5}|\*)$/u;
const PORT_MAX = 65_535;
/** `sun_path` of a Unix socket holds 107 characters. */
const IPC = /^ipc:\/\/\S{1,107}$/u;

/** Reads an endpoint to bind, such as `tcp://127.0.0.1:7101`; port `*` is any free one. */
export function parseEndpoint(text: string): Endpoint | BindFailure {
  if (IPC.test(text)) return { text, loopback: true, ipv6: false };
  const parts = TCP.exec(text);
  const host = parts?.[1] ?? '';
  const port = parts?.[2] ?? '';
  if (parts === null || (port !== '*' && Number(port) > PORT_MAX)) {
    return badEndpoint(text, 'expected tcp://ADDRESS:PORT or ipc://PATH');
  }
  if (host.startsWith('[')) {
    const address = host.slice(1, -1);
    if (!isIPv6(address)) return badEndpoint(text, `${address} is no IPv6 address`);
    return { text, loopback: isLoopback6(address), ipv6: true };
  }
  // libzmq binds addresses and interfaces, not names: this one everybody writes all the same.
  if (host === 'localhost') return { text: `tcp://127.0.0.1:${port}`, loopback: true, ipv6: false };
  return { text, loopback: isIPv4(host) && host.startsWith('127.'), ipv6: false };
}

function isLoopback6(address: string): boolean {
  // The URL parser gives every spelling of an address its shortest one.
  return new URL(`http://[${address}]`).hostname === '[::1]';
}

function badEndpoint(text: string, why: string): BindFailure {
  return { ok: false, code: 'bad_endpoint', message: `cannot listen on ${text}: ${why}` };
}

/** Names what libzmq's error means for the user. */
export function explainBindError(text: string, error: unknown): BindFailure {
  const code = (error as NodeJS.ErrnoException).code ?? String(error);
  switch (code) {
    case 'EADDRINUSE':
      return {
        ok: false,
        code: 'port_in_use',
        message: `cannot listen on ${text}: another process has this port`,
      };
    // ENODEV: libzmq binds addresses and interfaces, so a name is a device that does not exist.
    case 'EADDRNOTAVAIL':
    case 'ENODEV':
      return {
        ok: false,
        code: 'not_local',
        message: `cannot listen on ${text}: it is no address or interface of this machine`,
      };
    default:
      return badEndpoint(text, code);
  }
}
