// The endpoints through which an agent finds the cluster: the contacts of the config, and the agents
// that earlier processes of this agent knew, so that a restart needs none of the contacts. Agents of
// the same data directory are asked as well, because they must not become two clusters. The agents
// at these endpoints need not be known by name, so a PING without an addressee is sent, and its
// answer names the agent.

import type { Entries } from '../../core/membership/overlay.ts';
import type { Peer } from '../../core/protocol/effects.ts';
import type { MemberCard } from '../../core/protocol/messages.ts';
import type { Contact } from './contact.ts';

/** Keeps addresses of other agents on disk. */
export interface KeptAddresses {
  /** Those of the last `save`; none if they are damaged. */
  read(): readonly string[];
  save(addresses: readonly string[]): void;
}

export interface FirstContactsOptions {
  /** Endpoints from the config, or of its agents if it has no contacts. */
  readonly contacts: readonly string[];
  readonly self: Pick<Contact, 'address'>;
  readonly heartbeatMs: number;
  readonly suspectAfterMs: number;
  /** Absent: nothing is kept. */
  readonly kept?: KeptAddresses;
  /** The other agents that run in the same data directory now. Absent: there are none. */
  readonly local?: (() => readonly Peer[]) | undefined;
}

/** Each of them needs a link while it is asked, and 32 links to unconfirmed addresses may exist. */
export const KEPT_MAX = 32;
/** All kept endpoints are asked within `suspectAfterMs`, after which a contact may begin alone. */
const KEPT_BATCHES = 4;
/** How often the agents near a contact ask it in that time. Some of the questions may be lost. */
const NEAR_ASKS = 4;

export class FirstContacts implements Entries {
  readonly #o: FirstContactsOptions;
  readonly contacts: readonly string[];
  /** When each contact was asked last. */
  readonly #askedAt: Map<string, number>;
  #lookedAt = -Infinity;
  #namesake: { readonly address: string; readonly at: number } | null = null;
  /** The agents of the same data directory at the start. */
  readonly #local: readonly Peer[];
  /** The most recently seen first. Filled by `keep` from the routing table. Bound: `KEPT_MAX`. */
  #kept: readonly string[];
  /** Those on disk. The addresses of local agents are not, until `keep` has saved them. */
  #saved: readonly string[];
  #keptAt = -Infinity;
  #batch = 0;
  #batchAt = -Infinity;

  constructor(options: FirstContactsOptions) {
    this.#o = options;
    this.contacts = options.contacts.filter((endpoint) => endpoint !== options.self.address);
    this.#askedAt = new Map(this.contacts.map((endpoint) => [endpoint, -Infinity]));
    this.#local = options.local?.() ?? [];
    const addresses = this.#local.map(({ address }) => address);
    this.#saved = options.kept?.read() ?? [];
    const all = new Set([...addresses, ...this.#saved]);
    this.#kept = [...all].slice(0, KEPT_MAX);
  }

  /** Only a contact may begin a cluster: any other agent could be cut off from one that exists. */
  get mayBeginAlone(): boolean {
    return this.#o.contacts.includes(this.#o.self.address);
  }

  /** Whether this agent looks for a cluster at the endpoint. */
  isEntry(endpoint: string): boolean {
    return this.#o.contacts.includes(endpoint) || this.#kept.includes(endpoint);
  }

  /** The kept endpoints that are no contacts. */
  get others(): readonly string[] {
    const all = new Set(this.#o.contacts).add(this.#o.self.address);
    return this.#kept.filter((endpoint) => !all.has(endpoint));
  }

  /** Contacts are left out: one that has just started has not answered yet. */
  get local(): readonly Peer[] {
    if (this.#local.length === 0) return [];
    const running = new Set(this.#o.local?.().map(({ id }) => id));
    const { contacts } = this.#o;
    return this.#local.filter(({ id, address }) => running.has(id) && !contacts.includes(address));
  }

  get namesake(): string | null {
    return this.#namesake?.address ?? null;
  }

  noteNamesake(address: string): void {
    this.#namesake = { address, at: this.#lookedAt };
  }

  /**
   * The endpoints to ask now: all until this agent has members, and then from time to time the
   * contacts that are no members, because contacts that started at the same time may have begun two
   * clusters. The agents near a contact ask it more often: it may start while no other contact runs,
   * and must not begin a second cluster.
   *
   * @param known - the addresses of the members
   * @param isNear - whether this agent is one of those that know the owner of the name
   */
  due(
    known: Pick<ReadonlySet<string>, 'size' | 'has'>,
    isNear: (name: string) => boolean,
    now: number,
  ): readonly string[] {
    const { heartbeatMs, suspectAfterMs } = this.#o;
    const isAlone = known.size === 0;
    const others = isAlone ? this.#keptDue(now) : [];
    if (now - this.#lookedAt < (isAlone ? heartbeatMs : suspectAfterMs / NEAR_ASKS)) return others;
    this.#lookedAt = now;
    if (this.#namesake && now - this.#namesake.at > suspectAfterMs) this.#namesake = null;
    const pauseMs = suspectAfterMs * this.contacts.length;
    const asked = this.contacts.filter((endpoint) => {
      if (known.has(endpoint)) return false;
      return isAlone || isNear(endpoint) || now - this.#askedAt.get(endpoint)! >= pauseMs;
    });
    for (const endpoint of asked) this.#askedAt.set(endpoint, now);
    return [...asked, ...others];
  }

  #keptDue(now: number): readonly string[] {
    if (now - this.#batchAt < this.#o.suspectAfterMs / KEPT_BATCHES) return [];
    this.#batchAt = now;
    const { others } = this;
    const size = KEPT_MAX / KEPT_BATCHES;
    const from = this.#batch * size;
    this.#batch = from + size < others.length ? this.#batch + 1 : 0;
    return others.slice(from, from + size);
  }

  /**
   * Saves the addresses of known agents, the most recently seen first, if some are new and there is
   * room for them. Earlier ones stay while there is room: their agents may be back by the next
   * start.
   */
  keep(known: () => readonly Pick<MemberCard, 'address'>[], now: number): void {
    const { kept, suspectAfterMs } = this.#o;
    if (!kept || now - this.#keptAt < suspectAfterMs) return;
    this.#keptAt = now;
    const addresses = [...new Set(known().map(({ address }) => address))];
    const saved = this.#saved;
    const isNew = addresses.some((address) => !saved.includes(address));
    const hasRoom =
      saved.length < KEPT_MAX || saved.some((address) => !addresses.includes(address));
    if (!isNew || !hasRoom) return;
    this.#kept = [...new Set([...addresses, ...this.#kept])].slice(0, KEPT_MAX);
    this.#saved = this.#kept;
    kept.save(this.#kept);
  }
}
