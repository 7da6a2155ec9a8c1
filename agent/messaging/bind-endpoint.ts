// Parses the endpoint to listen on and explains why binding it failed. Endpoints are checked here
// because libzmq accepts `tcp://127.0.0.1:99999` and `…:1x` and binds some other port.

import { isIPv4, isIPv6 } from 'node:net';

export interface Endpoint {
  /** The endpoint in the form that libzmq expects. */
  readonly text: string;
  /** Whether only processes on this machine can connect, so that commands can be trusted. */
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
/** The path of a Unix socket (`sun_path`) has at most 107 characters. */
const IPC = /^ipc:\/\/\S{1,107}$/u;

/** Parses an endpoint to bind, such as `tcp://127.0.0.1:7101`. Port `*` means any free port. */
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
    if (!isIPv6(address)) return badEndpoint(text, `${address} is not an IPv6 address`);
    return { text, loopback: isLoopback6(address), ipv6: true };
  }
  // libzmq binds addresses and interfaces, but not names.
  if (host === 'localhost') return { text: `tcp://127.0.0.1:${port}`, loopback: true, ipv6: false };
  return { text, loopback: isIPv4(host) && host.startsWith('127.'), ipv6: false };
}

function isLoopback6(address: string): boolean {
  // The URL parser normalizes the spelling of the address.
  return new URL(`http://[${address}]`).hostname === '[::1]';
}

function badEndpoint(text: string, why: string): BindFailure {
  return { ok: false, code: 'bad_endpoint', message: `cannot listen on ${text}: ${why}` };
}

/** Converts an error of libzmq. */
export function explainBindError(text: string, error: unknown): BindFailure {
  const code = (error as NodeJS.ErrnoException).code ?? String(error);
  switch (code) {
    case 'EADDRINUSE':
      return {
        ok: false,
        code: 'port_in_use',
        message: `cannot listen on ${text}: the port is in use by another process`,
      };
    // libzmq takes a name for an interface, so a host name fails with ENODEV.
    case 'EADDRNOTAVAIL':
    case 'ENODEV':
      return {
        ok: false,
        code: 'not_local',
        message: `cannot listen on ${text}: this machine has no such address or interface`,
      };
    default:
      return badEndpoint(text, code);
  }
}
