/**
 * Asks for the addresses of a name. Public names go to the DNS servers through c-ares, which
 * tells how long an answer holds and waits on sockets, so that an outage of the DNS does not
 * occupy the few threads that files and compression need too. What may stand in the hosts file
 * or under a search domain, and what the DNS does not know, is the system's to answer.
 * `agent.ts` wraps it into the cache.
 */

import dns from 'node:dns/promises';
import type { ResolvedAddress } from './dial.ts';
import type { DnsAnswer, Resolve } from './dns-cache.ts';

/** Which addresses are asked for and connected to. */
export type AddressFamily = 'any' | 'ipv4' | 'ipv6';

/** The part of `dns.promises.Resolver` that is used; tests put another in its place. */
export interface DnsClient {
  resolve4(name: string, options: { ttl: true }): Promise<{ address: string; ttl: number }[]>;
  resolve6(name: string, options: { ttl: true }): Promise<{ address: string; ttl: number }[]>;
}

export interface ResolverOptions {
  readonly family: AddressFamily;
  readonly client?: DnsClient;
  /** `getaddrinfo` by default. */
  readonly system?: (name: string) => Promise<readonly ResolvedAddress[]>;
}

/** First try; c-ares doubles it for the second. Both fit in the default `connectMs` of 5 s. */
const TRY_MS = 1500;
const TRIES = 2;
/** A name has more addresses than this only to make somebody suffer. */
const ADDRESSES_MAX = 64;
/**
 * The system gives up by itself after some ten seconds. Where it does not (a directory service that
 * hangs), whoever waits for the name, and asks for it later, would wait with it.
 */
const SYSTEM_MS = 30_000;

/** Only the hosts file, a search domain or the local network knows these. */
const SYSTEM_NAME = /^[^.]+$|\.(?:localhost|localdomain|local|internal|home\.arpa)$/;
/** The DNS knows nothing of the name, or there is no DNS: the hosts file may. */
const ASK_SYSTEM: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED']);

/** @returns a resolver whose queries end within some seconds, whatever the servers do. */
export function createResolver(options: ResolverOptions): Resolve {
  const client = options.client ?? new dns.Resolver({ timeout: TRY_MS, tries: TRIES });
  const system = options.system ?? systemAddresses;
  const wanted = wantedBy(options.family);
  const bySystem = async (name: string): Promise<DnsAnswer> => {
    const addresses = await within(SYSTEM_MS, system(name), name);
    return { addresses: addresses.filter(({ family }) => wanted.has(family)), ttlMs: null };
  };
  return async (name) => {
    if (SYSTEM_NAME.test(name)) return bySystem(name);
    try {
      return await byDns(client, name, wanted);
    } catch (error) {
      if (!ASK_SYSTEM.has(codeOf(error))) throw error;
      return await bySystem(name);
    }
  };
}

/** @throws what the more telling of both queries failed with, where neither has an address. */
async function byDns(
  client: DnsClient,
  name: string,
  wanted: ReadonlySet<number>,
): Promise<DnsAnswer> {
  const queries = [
    ...(wanted.has(4) ? [answersOf(client.resolve4(name, { ttl: true }), 4)] : []),
    ...(wanted.has(6) ? [answersOf(client.resolve6(name, { ttl: true }), 6)] : []),
  ];
  const settled = await Promise.allSettled(queries);
  const lists = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const addresses = alternating(lists.map((list) => list.addresses)).slice(0, ADDRESSES_MAX);
  if (addresses.length > 0) {
    return { addresses, ttlMs: Math.min(...lists.map((list) => list.ttlMs)) };
  }
  const errors = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  // A failure outweighs "no such name": the other query might have found one.
  throw errors.find((error) => !ASK_SYSTEM.has(codeOf(error))) ?? errors[0] ?? nothing(name);
}

async function answersOf(query: Promise<{ address: string; ttl: number }[]>, family: 4 | 6) {
  const answers = await query;
  return {
    addresses: answers.map(({ address }): ResolvedAddress => ({ address, family })),
    ttlMs: Math.min(...answers.map(({ ttl }) => ttl * 1000)),
  };
}

/** By turns from each list, so that the few that are tried hold both families. */
function alternating(lists: readonly (readonly ResolvedAddress[])[]): ResolvedAddress[] {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  const rounds = Array.from({ length: longest }, (_, at) => lists.map((list) => list[at]));
  return rounds.flat().filter((address) => address !== undefined);
}

async function systemAddresses(name: string): Promise<readonly ResolvedAddress[]> {
  const answers = await dns.lookup(name, { all: true });
  return answers.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
}

async function within<T>(ms: number, work: Promise<T>, name: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `the system did not say within ${ms} ms where ${name} is`;
    timer = setTimeout(() => reject(Object.assign(new Error(message), { code: 'ETIMEOUT' })), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function wantedBy(family: AddressFamily): ReadonlySet<number> {
  return new Set(family === 'ipv4' ? [4] : family === 'ipv6' ? [6] : [4, 6]);
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | null)?.code ?? '';
}

function nothing(name: string): Error {
  return Object.assign(new Error(`${name} has no address`), { code: 'ENODATA' });
}
