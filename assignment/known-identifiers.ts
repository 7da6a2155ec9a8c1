// Computes and caches the identifiers of each agent. They depend only on the member and on the
// number of identifiers, so placements for successive views share one `KnownIdentifiers`.

import type { RingMember } from './assignment.ts';
import { identifiersOf, type KademliaOptions, type Key, type Sha1 } from './identifiers.ts';

/** Maximum number of cached identifiers, of about 50 bytes each: 6 MiB, or 16,384 agents with 8. */
const identifiersKeptMax = 131_072;

export class KnownIdentifiers implements KademliaOptions {
  readonly sha1: Sha1;
  readonly ids: number;
  /** Filled by `of`; emptied when it would exceed `identifiersKeptMax`. */
  readonly #kept = new Map<string, readonly Key[]>();
  #keptCount = 0;

  constructor({ sha1, ids }: KademliaOptions) {
    this.sha1 = sha1;
    this.ids = ids;
  }

  /** The identifiers of an agent, unsorted. The array is shared. */
  of(member: RingMember): readonly Key[] {
    // An agent that restarts with another capacity has another entry.
    const entry = `${member.capacity} ${member.id}`;
    const kept = this.#kept.get(entry);
    if (kept !== undefined) return kept;
    const computed = identifiersOf(member, this);
    if (this.#keptCount + computed.length > identifiersKeptMax) {
      this.#kept.clear();
      this.#keptCount = 0;
    }
    this.#kept.set(entry, computed);
    this.#keptCount += computed.length;
    return computed;
  }
}
