/**
 * Resolves names. Public names are queried through c-ares, which reports the TTL and waits on
 * sockets: a DNS outage then does not occupy the few threads that files and compression need. Names
 * that the hosts file, a search domain or the local network may define, and names that the DNS does
 * not know, go to the system resolver.
 */

import dns from 'node:dns/promises';
import { type ResolvedAddress, systemLookup } from './dial.ts';
import type { DnsAnswer, Resolve } from './dns-cache.ts';

/** The addresses that are looked up and connected to. */
export type AddressFamily = 'any' | 'ipv4' | 'ipv6';

/** The part of `dns.promises.Resolver` in use; tests replace it. */
export interface DnsClient {
  resolve4(name: string, options: { ttl: true }): Promise<{ address: string; ttl: number }[]>;
  resolve6(name: string, options: { ttl: true }): Promise<{ address: string; ttl: number }[]>;
}

export interface ResolverOptions {
  readonly family: AddressFamily;
  /** Creates a client, which reads the addresses of the DNS servers; c-ares by default. */
  readonly client?: () => DnsClient;
  /** `getaddrinfo` by default. */
  readonly system?: (name: string) => Promise<readonly ResolvedAddress[]>;
}

/**
 * Timeout of the first try in ms; c-ares doubles it for the second. With one DNS server both fit in
 * the default `connectMs` of 5 s.
 */
const TRY_MS = 1500;
const TRIES = 2;
/**
 * How long in ms IPv4 addresses wait for those of IPv6: some servers never answer queries for AAAA.
 * RFC 8305 advises 50 ms. An answer without them is used for a short time only.
 */
const IPV6_WAIT_MS = 100;
const CUT_TTL_MS = 5000;
/** Limit on the addresses of a name. More are an attack. */
const ADDRESSES_MAX = 64;
/**
 * Timeout of the system resolver in ms. It normally ends by itself after some ten seconds. If it
 * hangs (in a directory service), this limit ends the wait of all requests for the name.
 */
const SYSTEM_MS = 30_000;

/** Names that only the hosts file, a search domain or the local network can know. */
const SYSTEM_NAME = /^[^.]+$|\.(?:localhost|localdomain|local|internal|home\.arpa)$/;
/** The DNS does not know the name, or there is no DNS server: the hosts file may know it. */
const ASK_SYSTEM: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED']);

/** No DNS server answers. */
const SILENT: ReadonlySet<string> = new Set(['ETIMEOUT', 'ECONNREFUSED']);

/**
 * @returns a resolver whose queries end within some seconds, or {@link SYSTEM_MS} on the system.
 */
export function createResolver(options: ResolverOptions): Resolve {
  const connect = options.client ?? (() => new dns.Resolver({ timeout: TRY_MS, tries: TRIES }));
  let current = connect();
  const system = options.system ?? systemLookup;
  const wanted = wantedBy(options.family);
  const bySystem = async (name: string): Promise<DnsAnswer> => {
    const addresses = await within(SYSTEM_MS, system(name), name);
    return { addresses: addresses.filter(({ family }) => wanted.has(family)), ttlMs: null };
  };
  return async (name) => {
    if (SYSTEM_NAME.test(name)) return bySystem(name);
    const client = current;
    try {
      return await byDns(client, name, wanted);
    } catch (error) {
      // The servers may have changed since the client has read their addresses.
      if (SILENT.has(codeOf(error)) && client === current) current = connect();
      if (!ASK_SYSTEM.has(codeOf(error))) throw error;
      return await bySystem(name);
    }
  };
}

/** @throws the more significant error of both queries, if neither has an address. */
async function byDns(
  client: DnsClient,
  name: string,
  wanted: ReadonlySet<number>,
): Promise<DnsAnswer> {
  const queries = [
    ...(wanted.has(4) ? [answersOf(client.resolve4(name, { ttl: true }), 4)] : []),
    ...(wanted.has(6) ? [answersOf(client.resolve6(name, { ttl: true }), 6)] : []),
  ];
  const settled = await settledSoon(queries);
  const lists = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const addresses = alternating(lists.map((list) => list.addresses)).slice(0, ADDRESSES_MAX);
  if (addresses.length > 0) {
    const isCut = settled.length < queries.length;
    const ttls = lists.map((list) => list.ttlMs);
    return { addresses, ttlMs: Math.min(...ttls, isCut ? CUT_TTL_MS : Infinity) };
  }
  const errors = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  // A failure outweighs "no such name": that query might have found an address.
  const failure = errors.find((error) => !ASK_SYSTEM.has(codeOf(error))) ?? errors[0];
  throw failure ?? Object.assign(new Error(`${name} has no address`), { code: 'ENODATA' });
}

type Answers = Awaited<ReturnType<typeof answersOf>>;

/** As `Promise.allSettled`, but IPv4 addresses do not wait long for the other query. */
function settledSoon(queries: readonly Promise<Answers>[]) {
  return new Promise<PromiseSettledResult<Answers>[]>((resolve) => {
    const settled: (PromiseSettledResult<Answers> | undefined)[] = queries.map(() => undefined);
    let timer: NodeJS.Timeout | undefined;
    const end = () => {
      clearTimeout(timer);
      resolve(settled.filter((one) => one !== undefined));
    };
    const note = (at: number, one: PromiseSettledResult<Answers>) => {
      settled[at] = one;
      if (!settled.includes(undefined)) end();
      else if (one.status === 'fulfilled' && one.value.addresses[0]?.family === 4) {
        timer ??= setTimeout(end, IPV6_WAIT_MS);
      }
    };
    for (const [at, query] of queries.entries()) {
      query.then(
        (value) => note(at, { status: 'fulfilled', value }),
        (reason: unknown) => note(at, { status: 'rejected', reason }),
      );
    }
  });
}

async function answersOf(query: Promise<{ address: string; ttl: number }[]>, family: 4 | 6) {
  const answers = await query;
  return {
    addresses: answers.map(({ address }): ResolvedAddress => ({ address, family })),
    ttlMs: Math.min(...answers.map(({ ttl }) => ttl * 1000)),
  };
}

/** Alternates between the lists, so that both families are among the few addresses tried. */
function alternating(lists: readonly (readonly ResolvedAddress[])[]): ResolvedAddress[] {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  const rounds = Array.from({ length: longest }, (_, at) => lists.map((list) => list[at]));
  return rounds.flat().filter((address) => address !== undefined);
}

async function within<T>(ms: number, work: Promise<T>, name: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `the system resolver did not answer within ${ms} ms for ${name}`;
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
