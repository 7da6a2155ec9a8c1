/**
 * Which address a host's next request will go to, decided before anything is connected, because a
 * slot of that very address has to be had first (`politeness.ipDelayMs`). The first answer of the
 * resolver that the guard passes is taken; one that could not be connected to gives way to the
 * others, as it would in a dialer that tries them side by side. `agent.ts` asks; the dialer then
 * connects to the chosen address and to no other.
 */

import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { AddressGuard } from './address-guard.ts';
import type { Lookup } from './dial.ts';

/** Hosts with several addresses of which some fail, remembered; a forgotten one is tried again. */
const HOSTS_MAX = 10_000;

/** One spelling for each address: without zone, and IPv4 as such where it is mapped into IPv6. */
export function addressKey(address: string): string {
  const bare = address.split('%')[0]!;
  return isIP(bare) === 0 ? address : ipaddr.process(bare).toString();
}

export interface AddressChoiceParts {
  readonly lookup: Lookup;
  readonly guard: AddressGuard;
}

export class AddressChoice {
  readonly #p: AddressChoiceParts;
  /** By host the addresses that could not be connected to, oldest host first. */
  readonly #failed = new Map<string, Set<string>>();

  constructor(parts: AddressChoiceParts) {
    this.#p = parts;
  }

  /**
   * @param host as `URL.hostname` writes it.
   * @returns the address's key; null where there is none that may be connected to. Never rejects.
   */
  async of(host: string): Promise<string | null> {
    const bare = host.startsWith('[') ? host.slice(1, -1) : host;
    if (isIP(bare) !== 0) return this.#passes(bare) ? addressKey(bare) : null;
    const answers = await this.#p.lookup(bare).catch(() => []);
    const passed = answers.map(({ address }) => address).filter((a) => this.#passes(a));
    const failed = this.#failed.get(host);
    const fresh = passed.map(addressKey).filter((key) => !failed?.has(key));
    if (fresh.length === 0) this.#failed.delete(host);
    return fresh[0] ?? (passed[0] === undefined ? null : addressKey(passed[0]));
  }

  /** Nothing could be connected to there. */
  failed(host: string, address: string): void {
    const failed = this.#failed.get(host) ?? new Set();
    this.#failed.delete(host);
    this.#failed.set(host, failed.add(address));
    if (this.#failed.size > HOSTS_MAX) this.#failed.delete(this.#failed.keys().next().value!);
  }

  #passes(address: string): boolean {
    return this.#p.guard.blocked(address) === null;
  }
}
