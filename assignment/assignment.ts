// Who owns a host, as every agent computes it alone. Any total order of the agents per host that
// does not change for the rest when one is taken away (contravariance) carries the whole protocol,
// so the order is an interface: the ring implements it here, a XOR distance may do so later. The
// core asks it for owners, grantors and backups; `ubiring owner` prints it.

/** An agent as the assignment sees it. */
export interface RingMember {
  /** Identifier, unique in the cluster; ties are broken by its UTF-16 code units. */
  readonly id: string;
  /** Weight, positive; 1 is the usual agent, 2 gets about twice its hosts. */
  readonly capacity: number;
}

/** SHA-256 of the UTF-8 bytes of `text`, 32 bytes. Passed in, so that this folder stays pure. */
export type Sha256 = (text: string) => Uint8Array;

/** A fixed set of agents and the order in which they answer for each host. */
export interface Assignment {
  /** First in the order of the host; undefined only where there are no agents. */
  owner(host: string): string | undefined;
  /**
   * Identifiers in the order in which they answer for the host: owner, then those who inherit it.
   * `count` cuts the order short, which is cheaper; without it every agent is named.
   */
  order(host: string, count?: number): readonly string[];
}
