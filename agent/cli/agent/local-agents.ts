// Which agents of a config run on this machine, and which of them `--agents` selects. An agent is local
// if its address is a loopback address or one of a network interface of this machine.

import dns from 'node:dns/promises';
import net from 'node:net';
import os from 'node:os';
import type { AgentEntry } from '../../../config/config.ts';
import { parseEndpoint } from '../../../config/values/agent-endpoint.ts';
import { messageOf } from '../common/exit-code.ts';

export interface LocalAgents {
  /** Agents with an address of this machine, in the order of the config. */
  readonly local: readonly AgentEntry[];
  /** By other agent, why it is not local: a sentence that begins with its identifier. */
  readonly why: ReadonlyMap<string, string>;
}

export async function localAgents(agents: readonly AgentEntry[]): Promise<LocalAgents> {
  const own = new Set(
    Object.values(os.networkInterfaces()).flatMap((entries) =>
      (entries ?? []).map(({ address }) => address),
    ),
  );
  const reasons = await Promise.all(agents.map(({ address }) => whyNotLocal(address, own)));
  const why = new Map<string, string>();
  for (const [k, reason] of reasons.entries()) {
    if (reason !== null) why.set(agents[k]!.id, `${agents[k]!.id}: ${reason}`);
  }
  return { local: agents.filter(({ id }) => !why.has(id)), why };
}

async function whyNotLocal(address: string, own: ReadonlySet<string>): Promise<string | null> {
  const endpoint = parseEndpoint(address);
  if (endpoint === null) return `${address} is not an endpoint`;
  const host = bareHost(endpoint.host);
  if (net.isIP(host) !== 0) return isOwn(host, own) ? null : notLocal(host);
  try {
    const found = await dns.lookup(host, { all: true });
    if (found.some((entry) => isOwn(entry.address, own))) return null;
    return notLocal(`${host} (${found.map((entry) => entry.address).join(', ')})`);
  } catch (error) {
    return `its host ${host} cannot be looked up (${messageOf(error)})`;
  }
}

function notLocal(host: string): string {
  return `${host} is not an address of this machine`;
}

function isOwn(ip: string, own: ReadonlySet<string>): boolean {
  return own.has(ip) || ip === '::1' || (net.isIPv4(ip) && ip.startsWith('127.'));
}

/** The host as sockets expect it: an IPv6 address without its brackets. */
export function bareHost(host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host;
}

export type Selection =
  | { readonly ok: true; readonly ids: readonly string[] }
  | { readonly ok: false; readonly code: 2 | 4; readonly message: string };

/**
 * The agents that a launch starts.
 *
 * @param wanted - `--agents`: N for the first N agents of this machine, or identifiers separated by
 *   commas; undefined for all agents of this machine
 * @param all - identifiers of the config
 * @param local - those of this machine
 * @param why - see {@link LocalAgents}
 */
export function selectAgents(
  wanted: string | undefined,
  all: readonly string[],
  local: readonly string[],
  why: LocalAgents['why'] = new Map(),
): Selection {
  const here = `${local.length} of its ${all.length} agents ${local.length === 1 ? 'has' : 'have'} an address of this machine`;
  const reasons = (ids: readonly string[]) => ids.map((id) => `\n  ${why.get(id) ?? id}`).join('');
  if (local.length === 0) {
    const message = `the config has no agent for this machine: ${here}${reasons(all)}`;
    return { ok: false, code: 4, message };
  }
  if (wanted === undefined) return { ok: true, ids: local };
  if (/^\d+$/.test(wanted)) {
    const first = Number(wanted);
    if (first === 0) return { ok: false, code: 2, message: '--agents: at least 1' };
    if (first <= local.length) return { ok: true, ids: local.slice(0, first) };
    // A number above that of the config is a usage error; otherwise agents are on other machines.
    if (first > all.length) return { ok: false, code: 2, message: `--agents ${wanted}: ${here}` };
    const others = all.filter((id) => !local.includes(id));
    return { ok: false, code: 4, message: `--agents ${wanted}: ${here}${reasons(others)}` };
  }
  const ids = [...new Set(wanted.split(',').map((id) => id.trim()))];
  const unknown = ids.filter((id) => !all.includes(id));
  if (unknown.length > 0) {
    const message = `--agents: no agent ${unknown.join(', ')} in the config; it has ${all.join(', ')}`;
    return { ok: false, code: 2, message };
  }
  const away = ids.filter((id) => !local.includes(id));
  if (away.length > 0) {
    const message = `--agents: ${away.join(', ')} cannot be started on this machine; ${here}`;
    return { ok: false, code: 4, message: `${message}${reasons(away)}` };
  }
  return { ok: true, ids: local.filter((id) => ids.includes(id)) };
}
