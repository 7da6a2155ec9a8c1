/**
 * Which addresses the crawler may connect to. A link on any page can name `localhost`, a router
 * or a cloud's metadata service, so everything that is not public unicast is refused unless the
 * user allows private networks. IPv6 is decided the other way round from IPv4: only 2000::/3 is
 * public, and forms that carry an IPv4 address are judged by it or refused outright, so a range
 * nobody thought of is closed. The dialer asks before connecting and again on the connected
 * socket; `check address` asks for the command line.
 */

import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { refusedPortOf } from '../../url/refused-ports.ts';

type Ranges = Record<string, [ipaddr.IPv4 | ipaddr.IPv6, number][]>;

function ranges(table: Record<string, string[]>): Ranges {
  return Object.fromEntries(
    Object.entries(table).map(([reason, list]) => [
      reason,
      list.map((cidr) => ipaddr.parseCIDR(cidr)),
    ]),
  );
}

/** Refused whatever the config says: no host answers there, or many at once. */
const NEVER_V4 = ranges({
  unspecified: ['0.0.0.0/8'],
  broadcast: ['255.255.255.255/32'],
  multicast: ['224.0.0.0/4'],
});

/** IANA's special-purpose registry of IPv4 (RFC 6890), and the one public address of Azure's host. */
const PRIVATE_V4 = ranges({
  loopback: ['127.0.0.0/8'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  'link-local': ['169.254.0.0/16'],
  'carrier-grade NAT': ['100.64.0.0/10'],
  documentation: ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'],
  'cloud metadata': ['168.63.129.16/32'],
  reserved: ['192.0.0.0/24', '192.88.99.0/24', '198.18.0.0/15', '240.0.0.0/4'],
});

const NEVER_V6 = ranges({ unspecified: ['::/128'], multicast: ['ff00::/8'] });

/** Named for the sake of the message; anything else outside 2000::/3 is `not global unicast`. */
const PRIVATE_V6 = ranges({
  loopback: ['::1/128'],
  'IPv4-compatible': ['::/96'],
  'IPv4-translated': ['::ffff:0:0:0/96'],
  'local NAT64': ['64:ff9b:1::/48'],
  'unique local': ['fc00::/7'],
  'link-local': ['fe80::/10'],
  'site-local': ['fec0::/10'],
  'discard-only': ['100::/64'],
  Teredo: ['2001::/32'],
  'protocol assignment': ['2001::/23'],
  documentation: ['2001:db8::/32', '3fff::/20'],
  '6to4': ['2002::/16'],
});

/** Prefixes whose last 32 bits are an IPv4 address that really is the destination. */
const EMBEDDED_V4 = ranges({ embedded: ['::ffff:0:0/96', '64:ff9b::/96'] });

const GLOBAL_UNICAST = ranges({ global: ['2000::/3'] });

/**
 * Names that no public resolver answers for (RFC 6761, 6762, 8375, ICANN's `internal`, and what
 * `/etc/hosts` holds): they can only lead to this machine or its network, whatever the resolver
 * here makes of them, and need not be looked up to be refused.
 */
const LOCAL_NAME =
  /(?:^|\.)(?:localhost|localdomain|local|internal|home\.arpa)$|^(?:localhost[46]|ip6-(?:localhost|loopback)|broadcasthost)$/i;

const NOTHING = '';

/** Stateless after construction; one per fetcher. */
export class AddressGuard {
  readonly #allowPrivate: boolean;
  readonly #viaProxy: boolean;

  /**
   * @param options.allowPrivate `http.allowPrivateAddresses` of the config.
   * @param options.viaProxy whether a proxy connects, so that nobody here sees to whom.
   */
  constructor(options: { readonly allowPrivate: boolean; readonly viaProxy?: boolean }) {
    this.#allowPrivate = options.allowPrivate;
    this.#viaProxy = options.viaProxy ?? false;
  }

  /**
   * Judges one address as `net` prints it, with or without a zone.
   *
   * @returns the reason why it may not be connected to, or null. Text that is no address is
   * refused too.
   */
  blocked(address: string): string | null {
    if (isIP(address) === 0) {
      return 'not an address';
    }
    const parsed = ipaddr.parse(plainForm(address));
    const reason = parsed.kind() === 'ipv4' ? this.#blockedV4(parsed) : this.#blockedV6(parsed);
    return reason === NOTHING ? null : reason;
  }

  /**
   * Judges `URL.hostname`: an address literal like {@link blocked}, a name only where it is one
   * of this machine or its network (what others resolve to is judged when they are dialed).
   */
  checkHostLiteral(hostname: string): string | null {
    const bare = /^\[.*\]$/.test(hostname) ? hostname.slice(1, -1) : hostname.replace(/\.$/, '');
    if (isIP(bare) !== 0) {
      const reason = this.blocked(bare);
      return reason ?? (this.#viaProxy && !this.#allowPrivate ? 'an address, by a proxy' : null);
    }
    return !this.#allowPrivate && LOCAL_NAME.test(bare) ? 'local name' : null;
  }

  /** What an http or https URL tells by itself: its literal, its name, its port. */
  checkUrl(url: URL): string | null {
    return this.checkHostLiteral(url.hostname) ?? this.#checkPort(url);
  }

  /** Those of other protocols are not written to. */
  #checkPort({ protocol, host }: URL): string | null {
    const port = this.#allowPrivate ? null : refusedPortOf(`${protocol}//${host}`);
    return port === null ? null : `port ${port} is of another protocol`;
  }

  #blockedV4(address: ipaddr.IPv4 | ipaddr.IPv6): string {
    const never = ipaddr.subnetMatch(address, NEVER_V4, NOTHING);
    if (never !== NOTHING || this.#allowPrivate) {
      return never;
    }
    return ipaddr.subnetMatch(address, PRIVATE_V4, NOTHING);
  }

  #blockedV6(address: ipaddr.IPv4 | ipaddr.IPv6): string {
    if (ipaddr.subnetMatch(address, EMBEDDED_V4, NOTHING) !== NOTHING) {
      return this.#blockedV4(new ipaddr.IPv4(address.toByteArray().slice(12)));
    }
    const never = ipaddr.subnetMatch(address, NEVER_V6, NOTHING);
    if (never !== NOTHING || this.#allowPrivate) {
      return never;
    }
    const named = ipaddr.subnetMatch(address, PRIVATE_V6, NOTHING);
    if (named !== NOTHING) {
      return named;
    }
    const global = ipaddr.subnetMatch(address, GLOBAL_UNICAST, NOTHING);
    return global === NOTHING ? 'not global unicast' : NOTHING;
  }
}

/**
 * Without zone and, in IPv6, without dotted decimals: ipaddr.js reads `::1.2.3.4` as if it were
 * `::ffff:1.2.3.4`, which is another address. To be asked before ipaddr.js is.
 */
export function plainForm(address: string): string {
  const bare = address.split('%')[0]!;
  return bare.includes(':') && bare.includes('.')
    ? new URL(`http://[${bare}]`).hostname.slice(1, -1)
    : bare;
}
