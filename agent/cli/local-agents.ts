// Which agents of a config run on this machine, and which of them are meant. An agent belongs here
// if peers reach it at a loopback address or at one of a local interface. Used by `launch`.

import dns from 'node:dns/promises';
import net from 'node:net';
import os from 'node:os';
import type { AgentEntry } from '../../config/config.ts';
import { isWildcard, parseEndpoint } from '../../config/endpoint.ts';
import { messageOf } from './exit-code.ts';

/** The agents whose address is of this machine, in the order of the config. */
export async function localAgents(agents: readonly AgentEntry[]): Promise<readonly AgentEntry[]> {
  const own = new Set(
    Object.values(os.networkInterfaces()).flatMap((entries) =>
      (entries ?? []).map(({ address }) => address),
    ),
  );
  const local = await Promise.all(agents.map(({ address }) => isLocal(address, own)));
  return agents.filter((_, k) => local[k]);
}

async function isLocal(address: string, own: ReadonlySet<string>): Promise<boolean> {
  const endpoint = parseEndpoint(address);
  if (endpoint === null) return false;
  const host = bare(endpoint.host);
  if (net.isIP(host) !== 0) return isOwn(host, own);
  try {
    const found = await dns.lookup(host, { all: true });
    return found.some((entry) => isOwn(entry.address, own));
  } catch {
    return false;
  }
}

function isOwn(ip: string, own: ReadonlySet<string>): boolean {
  return own.has(ip) || ip === '::1' || (net.isIPv4(ip) && ip.startsWith('127.'));
}

function bare(host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host;
}

export type Selection =
  | { readonly ok: true; readonly agents: readonly AgentEntry[] }
  | { readonly ok: false; readonly code: 2 | 4; readonly message: string };

/**
 * @param wanted - `--agents`: a number N for the first N of this machine, or identifiers with
 *   commas; undefined for all of this machine
 */
export function selectAgents(
  wanted: string | undefined,
  all: readonly AgentEntry[],
  local: readonly AgentEntry[],
): Selection {
  const here = `${local.length} of its ${all.length} agents have an address of this machine`;
  if (local.length === 0) {
    return { ok: false, code: 4, message: `the config has no agent for this machine: ${here}` };
  }
  if (wanted === undefined) return { ok: true, agents: local };
  if (/^\d+$/.test(wanted)) {
    const first = Number(wanted);
    if (first === 0) return { ok: false, code: 2, message: '--agents: at least 1' };
    if (first <= local.length) return { ok: true, agents: local.slice(0, first) };
    // More than the config has is a slip of the hand; more than are here, a config for elsewhere.
    const code = first > all.length ? 2 : 4;
    return { ok: false, code, message: `--agents ${wanted}: ${here}` };
  }
  const ids = [...new Set(wanted.split(',').map((id) => id.trim()))];
  const known = all.map(({ id }) => id);
  const unknown = ids.filter((id) => !known.includes(id));
  if (unknown.length > 0) {
    const message = `--agents: no agent ${unknown.join(', ')} in the config; it has ${known.join(', ')}`;
    return { ok: false, code: 2, message };
  }
  const away = ids.filter((id) => !local.some((agent) => agent.id === id));
  if (away.length > 0) {
    const message = `--agents: ${away.join(', ')} cannot be started on this machine; ${here}`;
    return { ok: false, code: 4, message };
  }
  return { ok: true, agents: local.filter(({ id }) => ids.includes(id)) };
}

/** @returns why the agent cannot listen, or null; another program on its port is the usual reason */
export function portProblem({ id, listen }: AgentEntry): Promise<string | null> {
  const endpoint = parseEndpoint(listen);
  if (endpoint === null) return Promise.resolve(`${id}: ${listen} is no endpoint`);
  const host = isWildcard(endpoint) ? undefined : bare(endpoint.host);
  return new Promise((resolve) => {
    const server = net.createServer((socket) => socket.destroy());
    server.once('error', (error) => {
      const inUse = 'code' in error && error.code === 'EADDRINUSE';
      resolve(`${id}: ${inUse ? `${listen} is in use by another program` : messageOf(error)}`);
    });
    server.listen({ host, port: endpoint.port, exclusive: true }, () => {
      server.close(() => resolve(null));
    });
  });
}
