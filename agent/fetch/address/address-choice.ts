/**
 * Which address a host's next request will go to, decided before anything is connected, because a
 * slot of that very address has to be had first (`politeness.ipDelayMs`). The first answer of the
 * resolver that the guard passes is taken; one that could not be connected to gives way to the
 * others, as it would in a dialer that tries them side by side. `agent.ts` asks; the dialer then
 * connects to the chosen address and to no other.
 */

import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type AddressGuard, plainForm } from './address-guard.ts';
import type { Lookup } from './dial.ts';

/** Hosts with several addresses of which some fail, remembered; a forgotten one is tried again. */
const HOSTS_MAX = 10_000;

/** The one NAT64 prefix that is the same everywhere, its last 32 bits an IPv4 address (RFC 6052). */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/** Where to connect, and which server that is. */
export interface Chosen {
  /** In the spelling of {@link addressKey}. */
  readonly dial: string;
  /** As {@link serverKey} gives it. */
  readonly address: string;
}

/** One spelling for each address: without zone, and IPv4 as such where it is mapped into IPv6. */
export function addressKey(address: string): string {
  return parsed(address)?.toString() ?? address;
}

/**
 * One key for all the addresses that are known to lead to one server: of a translated IPv4 address
 * (NAT64) that address itself, however differently the two are connected to. Nothing else that
 * holds an IPv4 address does: behind 6to4 and Teredo are whole networks of machines of which that
 * address is only the gate, and a network's own NAT64 prefix cannot be told from any other.
 */
export function serverKey(address: string): string {
  const found = parsed(address);
  if (!(found instanceof ipaddr.IPv6) || !found.match(NAT64)) return addressKey(address);
  return new ipaddr.IPv4(found.toByteArray().slice(12)).toString();
}

function parsed(address: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  return isIP(address) === 0 ? null : ipaddr.process(plainForm(address));
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
   * @param current the server chosen before: it stays chosen while the name leads to it, so that
   *   a resolver that rotates its answers does not move the host from line to line.
   * @returns null where there is none that may be connected to. Never rejects.
   */
  async of(host: string, current: string | null = null): Promise<Chosen | null> {
    const dial = await this.#dialed(host, current);
    return dial === null ? null : { dial, address: serverKey(dial) };
  }

  async #dialed(host: string, current: string | null): Promise<string | null> {
    const bare = host.startsWith('[') ? host.slice(1, -1) : host;
    if (isIP(bare) !== 0) return this.#passes(bare) ? addressKey(bare) : null;
    const answers = await this.#p.lookup(bare).catch(() => []);
    const passed = answers.map(({ address }) => address).filter((a) => this.#passes(a));
    const failed = this.#failed.get(host);
    const fresh = passed.map(addressKey).filter((key) => !failed?.has(key));
    if (fresh.length === 0) this.#failed.delete(host);
    const same = fresh.find((key) => serverKey(key) === current);
    return same ?? fresh[0] ?? (passed[0] === undefined ? null : addressKey(passed[0]));
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
