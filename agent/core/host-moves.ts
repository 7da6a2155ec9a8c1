// Which hosts move when the view changes, and to whom they must be listed (PROTOCOL rules 2 and
// 3). A member that is added is given a list of every host of which there are rows here and which
// it now owns; when one is taken out, each host that it owned is listed to its new owner. Called
// by the core around every change of the view; drives the hand-off's sending.

import type { Assignment } from '../../assignment/assignment.ts';
import type { Instant } from '../../failure-detector/instant.ts';
import type { FetchRight } from './fetch-right.ts';
import type { HandOff } from './hand-off.ts';
import type { AgentId, Host } from './messages.ts';
import type { Routing } from './routing.ts';
import type { CoreSettings } from './settings.ts';
import type { Store } from './store.ts';
import type { Member, View } from './view.ts';
import type { Visits } from './visits.ts';

/** Hosts of a removed member looked up in one turn: some ten milliseconds. */
const HOSTS_PER_TURN = 1000;

/** Hosts still to be looked up, by the placement in which the member `id` had its place. */
interface Search {
  readonly placement: Assignment;
  readonly id: AgentId;
  readonly hosts: Host[];
}

export class HostMoves {
  readonly #settings: CoreSettings;
  readonly #store: Store;
  readonly #view: View;
  readonly #handOff: HandOff;
  /** The placement before the member that is being taken out lost its place, and its name. */
  #before: Pick<Search, 'placement' | 'id'> | null = null;
  /** Hosts of removed members that are still to be found and listed; emptied some each turn. */
  readonly #searches: Search[] = [];

  constructor(settings: CoreSettings, store: Store, view: View, handOff: HandOff) {
    this.#settings = settings;
    this.#store = store;
    this.#view = view;
    this.#handOff = handOff;
  }

  added(member: Member, leaving: boolean, now: Instant): void {
    const { id } = member.card;
    const names = (host: Host) => this.#view.owner(host) === id;
    this.#handOff.giveFrom(id, { hosts: this.#store.hosts(), next: 0, names }, now, leaving);
  }

  /** The member is about to lose its place in the order. */
  before(member: Member): void {
    this.#before = { placement: this.#view.assignment(), id: member.card.id };
  }

  /** It has lost it: what it owned is looked for from now on, first among hosts being asked. */
  after(visits: Visits, now: Instant): void {
    if (!this.#before) return;
    const search = { ...this.#before, hosts: this.#store.hosts() };
    this.#before = null;
    const open = [...visits.open()].map(({ host }) => host);
    this.#list(search, [...new Set(open)], now);
    this.#searches.push(search);
  }

  reset(): void {
    this.#searches.length = 0;
  }

  /** Nothing is to be found and listed any more: a condition of idleness. */
  get isQuiet(): boolean {
    return this.#searches.length === 0;
  }

  /** Lists some hosts of removed members to their new owners. */
  #search(now: Instant): void {
    const [search] = this.#searches;
    if (!search) return;
    const mine = this.#list(search, search.hosts.splice(-HOSTS_PER_TURN), now);
    if (mine > 0) this.#store.event(now.mono, 'takeover', { from: search.id, hosts: mine });
    if (search.hosts.length === 0) this.#searches.shift();
  }

  /**
   * Lists those that the removed member owned to their new owners; one under a new incarnation
   * of the same identifier gets them as a joiner. Gives the number that fell to this agent.
   */
  #list({ placement, id }: Search, hosts: readonly Host[], now: Instant): number {
    const { mine, others } = this.#byOwner(hosts.filter((host) => placement.owner(host) === id));
    others.delete(id);
    for (const [owner, named] of others) this.#handOff.give(owner, named, now);
    return mine;
  }

  /** This agent leaves the order itself: every member gets a list with the leaving mark. */
  leave(now: Instant): void {
    this.#view.stopPlacing();
    for (const member of this.#view.members()) {
      const { id } = member.card;
      const names = (host: Host) => this.#view.owner(host) === id;
      this.#handOff.giveFrom(id, { hosts: this.#store.hosts(), next: 0, names }, now, true);
    }
  }

  #byOwner(hosts: readonly Host[]): { mine: number; others: Map<AgentId, Host[]> } {
    const others = new Map<AgentId, Host[]>();
    let mine = 0;
    for (const host of hosts) {
      const owner = this.#view.owner(host);
      if (owner === undefined) continue;
      if (owner === this.#settings.id) {
        mine++;
        continue;
      }
      const named = others.get(owner);
      if (named) named.push(host);
      else others.set(owner, [host]);
    }
    return { mine, others };
  }

  /** Sends the parts and yields that are due, and records the hand-offs that are finished. */
  pump(visits: Visits, right: FetchRight, routing: Routing, now: Instant): void {
    this.#search(now);
    const finished = this.#handOff.pump(
      {
        isOpen: (host) => visits.isOpen(host),
        isEmptied: (host) => routing.isEmptied(host),
        waitLeftMs: (host, at) => right.waitLeftMs(host, at),
      },
      now,
    );
    for (const { to, hosts, tookMs } of finished) {
      if (hosts === 0) continue;
      this.#store.event(now.mono, 'handoff', { to, hosts, tookMs: Math.round(tookMs) });
    }
  }
}
