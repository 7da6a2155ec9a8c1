/**
 * Decides which addresses the crawler may connect to. A link on any page can name `localhost`, a
 * router or the metadata service of a cloud, so only public unicast addresses are allowed unless
 * the user allows private networks. For IPv6 the rule is an allow-list: only 2000::/3 is public,
 * and forms that contain an IPv4 address are judged by it or refused, so unknown ranges are
 * refused. The guard is asked before a connection and again with the connected socket.
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

/** Always refused: no host, or many hosts, have these addresses. */
const NEVER_V4 = ranges({
  unspecified: ['0.0.0.0/8'],
  broadcast: ['255.255.255.255/32'],
  multicast: ['224.0.0.0/4'],
});

/**
 * IANA's registry of special-purpose IPv4 addresses (RFC 6890), and the public address of the Azure
 * host.
 */
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

/** Listed to give a reason. Any other address outside 2000::/3 is `not global unicast`. */
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

/** Prefixes whose last 32 bits are the IPv4 address of the destination. */
const EMBEDDED_V4 = ranges({ embedded: ['::ffff:0:0/96', '64:ff9b::/96'] });

const GLOBAL_UNICAST = ranges({ global: ['2000::/3'] });

/**
 * Names that no public resolver knows (RFC 6761, 6762, 8375, ICANN's `internal`, and those of
 * `/etc/hosts`). They can only lead to this machine or its network, so they are refused without a
 * look-up.
 */
const LOCAL_NAME =
  /(?:^|\.)(?:localhost|localdomain|local|internal|home\.arpa)$|^(?:localhost[46]|ip6-(?:localhost|loopback)|broadcasthost)$/i;

/** @returns the name of the first range that contains the address, or null. */
function rangeOf(address: ipaddr.IPv4 | ipaddr.IPv6, table: Ranges): string | null {
  return ipaddr.subnetMatch(address, table, '') || null;
}

export class AddressGuard {
  readonly #allowPrivate: boolean;
  readonly #viaProxy: boolean;

  /**
   * @param options.allowPrivate `http.allowPrivateAddresses` of the config.
   * @param options.viaProxy whether a proxy connects, so that this agent does not see the address.
   */
  constructor(options: { readonly allowPrivate: boolean; readonly viaProxy?: boolean }) {
    this.#allowPrivate = options.allowPrivate;
    this.#viaProxy = options.viaProxy ?? false;
  }

  /**
   * Checks an address as Node's `net` prints it, with or without a zone.
   *
   * @returns the reason to refuse it, or null. Text that is not an address is refused.
   */
  blocked(address: string): string | null {
    if (isIP(address) === 0) return 'not an address';
    const parsed = ipaddr.parse(plainForm(address));
    return parsed.kind() === 'ipv4' ? this.#blockedV4(parsed) : this.#blockedV6(parsed);
  }

  /**
   * Checks a `URL.hostname`: an address literal as {@link blocked} does; a name only if it belongs
   * to this machine or its network. The addresses of other names are checked when they are dialled.
   *
   * @returns the reason to refuse it, or null.
   */
  checkHostLiteral(hostname: string): string | null {
    const bare = /^\[.*\]$/.test(hostname) ? hostname.slice(1, -1) : hostname.replace(/\.$/, '');
    if (isIP(bare) !== 0) {
      const reason = this.blocked(bare);
      return (
        reason ?? (this.#viaProxy && !this.#allowPrivate ? 'address literal through a proxy' : null)
      );
    }
    return !this.#allowPrivate && LOCAL_NAME.test(bare) ? 'local name' : null;
  }

  /**
   * Checks the host and the port of an http or https URL.
   *
   * @returns the reason to refuse it, or null.
   */
  checkUrl(url: URL): string | null {
    return this.checkHostLiteral(url.hostname) ?? this.#checkPort(url);
  }

  /** Refuses the ports of other protocols. */
  #checkPort({ protocol, host }: URL): string | null {
    const port = this.#allowPrivate ? null : refusedPortOf(`${protocol}//${host}`);
    return port === null ? null : `port ${port} belongs to another protocol`;
  }

  #blockedV4(address: ipaddr.IPv4 | ipaddr.IPv6): string | null {
    return rangeOf(address, NEVER_V4) ?? (this.#allowPrivate ? null : rangeOf(address, PRIVATE_V4));
  }

  #blockedV6(address: ipaddr.IPv4 | ipaddr.IPv6): string | null {
    if (rangeOf(address, EMBEDDED_V4) !== null) {
      return this.#blockedV4(new ipaddr.IPv4(address.toByteArray().slice(12)));
    }
    const never = rangeOf(address, NEVER_V6);
    if (never !== null || this.#allowPrivate) return never;
    const isGlobal = rangeOf(address, GLOBAL_UNICAST) !== null;
    return rangeOf(address, PRIVATE_V6) ?? (isGlobal ? null : 'not global unicast');
  }
}

/**
 * The address without zone and, in IPv6, without dotted decimals. Use it before ipaddr.js, which
 * reads `::1.2.3.4` as `::ffff:1.2.3.4`, a different address.
 */
export function plainForm(address: string): string {
  const bare = address.split('%')[0]!;
  return bare.includes(':') && bare.includes('.')
    ? new URL(`http://[${bare}]`).hostname.slice(1, -1)
    : bare;
}
