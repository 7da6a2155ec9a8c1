// Which hosts move when the view changes, and to whom they must be listed (PROTOCOL rules 2 and
// 3). A member that is added is given a list of every host of which there are rows here and which
// it now owns; when one is taken out, each host that it owned is listed to its new owner. Called
// by the core around every change of the view; drives the hand-off's sending.

import type { Instant } from '../../failure-detector/instant.ts';
import type { FetchRight } from './fetch-right.ts';
import type { HandOff } from './hand-off.ts';
import type { AgentId, Host } from './messages.ts';
import type { Routing } from './routing.ts';
import type { CoreSettings } from './settings.ts';
import type { Store } from './store.ts';
import type { Member, View } from './view.ts';
import type { Visits } from './visits.ts';

export class HostMoves {
  readonly #settings: CoreSettings;
  readonly #store: Store;
  readonly #view: View;
  readonly #handOff: HandOff;
  /** Hosts of the member that is being taken out of the order. */
  #moving: Host[] = [];

  constructor(settings: CoreSettings, store: Store, view: View, handOff: HandOff) {
    this.#settings = settings;
    this.#store = store;
    this.#view = view;
    this.#handOff = handOff;
  }

  added(member: Member, leaving: boolean, now: Instant): void {
    const { id } = member.card;
    const hosts = this.#store.hosts().filter((host) => this.#view.owner(host) === id);
    this.#handOff.give(id, hosts, now, leaving);
  }

  /** The member is about to lose its place in the order. */
  before(member: Member): void {
    const { id } = member.card;
    this.#moving = this.#store.hosts().filter((host) => this.#view.owner(host) === id);
  }

  /** It has lost it. Gives the number of hosts that fell to this agent. */
  after(now: Instant): number {
    const { mine, others } = this.#byOwner(this.#moving);
    this.#moving = [];
    for (const [owner, hosts] of others) this.#handOff.give(owner, hosts, now);
    return mine;
  }

  /** This agent leaves the order itself: every member gets a list with the leaving mark. */
  leave(now: Instant): void {
    this.#view.stopPlacing();
    const { others } = this.#byOwner(this.#store.hosts());
    for (const member of this.#view.members()) {
      const { id } = member.card;
      this.#handOff.give(id, others.get(id) ?? [], now, true);
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
