/**
 * Chooses the address of a host's next request before a connection is opened, because the request
 * first needs a permit for that address (`politeness.ipDelayMs`). The choice is the first address
 * from the resolver that the guard allows. An address that could not be connected to is chosen only
 * if no other remains. The dialer then connects to the chosen address only.
 */

import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type AddressGuard, plainForm } from './address-guard.ts';
import type { Lookup } from './dial.ts';

/** Limit on the hosts whose failed addresses are remembered. A forgotten address is tried again. */
const HOSTS_MAX = 10_000;

/** The well-known NAT64 prefix; the last 32 bits are an IPv4 address (RFC 6052). */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/** The address to connect to, and the server that it belongs to. */
export interface Chosen {
  /** In the form of {@link addressKey}. */
  readonly dial: string;
  /** In the form of {@link serverKey}. */
  readonly address: string;
}

/** @returns one spelling per address: without zone; an IPv4-mapped IPv6 address as IPv4. */
export function addressKey(address: string): string {
  return parsed(address)?.toString() ?? address;
}

/**
 * @returns one key for all addresses known to lead to the same server. An address under the
 * well-known NAT64 prefix gives its IPv4 address. Other addresses that contain an IPv4 address do
 * not: 6to4 and Teredo addresses belong to whole networks behind that address, and the NAT64 prefix
 * of a network cannot be recognised.
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
  /** Addresses that could not be connected to, by host; oldest host first. */
  readonly #failed = new Map<string, Set<string>>();

  constructor(parts: AddressChoiceParts) {
    this.#p = parts;
  }

  /**
   * Chooses an address. Never rejects.
   *
   * @param host in the form of `URL.hostname`.
   * @param current server key of the last choice. It stays chosen while the name resolves to it, so
   * that a resolver that rotates its answers does not move the host between servers.
   * @returns null if no address may be connected to.
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

  /** Records that a connection to the address failed. */
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
