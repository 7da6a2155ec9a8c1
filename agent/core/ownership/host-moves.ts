// Which hosts move when the view changes, and to whom they must be listed (PROTOCOL rules 2 and
// 3). A member that is added is given a list of every host of which there are rows here and which
// it now owns; rows that have no place here any more are listed to their owner; when a member is
// taken out, each host that it owned, or whose rows it streamed here, is listed to its new owner.
// What follows from a new view for each host (the mark in the SQL views, streams to new backups,
// queues that are to be visited) is brought up to date in the background, some hosts a turn, so
// that a takeover of thousands does not block the loop.

import type { Assignment } from '../../../assignment/assignment.ts';
import type { Instant } from '../../../failure-detector/instant.ts';
import type { Budgets } from '../budgets/budgets.ts';
import type { FetchRight } from '../hand-off/fetch-right.ts';
import type { HandOff, YieldAckItem } from '../hand-off/hand-off.ts';
import { HostWalk } from '../hand-off/host-walk.ts';
import type { Member, View } from '../membership/view.ts';
import type { Backlog, Task } from '../protocol/backlog.ts';
import type { Store } from '../protocol/core-store.ts';
import type { EventLog } from '../protocol/event-log.ts';
import type { AgentId, Host } from '../protocol/messages.ts';
import type { Part } from '../protocol/part.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { Visits } from '../protocol/visits-port.ts';
import type { Replication } from '../replication/replication.ts';
import type { Settlement } from '../replication/settlement.ts';

/** After so many times `suspectAfterMs` a first request has nothing to do with a takeover. */
const UNVISITED_MAX = 4;

/** Hosts still to be looked up, by the placement in which the member `id` had its place. */
interface Search {
  readonly placement: Assignment;
  readonly id: AgentId;
  /** The last news of the member. */
  readonly heardAt: number;
  readonly walk: HostWalk;
  /** Those looked up that fell to this agent. */
  mine: number;
}

export interface HostMovesParts {
  readonly settings: CoreSettings;
  readonly store: Store;
  readonly events: EventLog;
  readonly view: View;
  readonly handOff: HandOff;
  readonly replication: Replication;
  readonly settlement: Settlement;
  readonly right: FetchRight;
  readonly visits: Visits;
  readonly budgets: Pick<Budgets, 'permitsMs'>;
  readonly backlog: Backlog;
  /** Told of each host of this agent after a change of the view. */
  readonly requeues: { received(host: Host): void };
}

export class HostMoves implements Part {
  readonly #p: HostMovesParts;
  /** Hosts of removed members that are still to be found and listed; emptied some each turn. */
  readonly #searches: Search[] = [];
  /** Takeovers whose first request is still to be recorded; some seconds long. */
  #unvisited: Search[] = [];
  /** Hosts still to be brought up to date with the view; null: all are. */
  #stale: HostWalk | null = null;
  /** Deletes what is left of deleted hosts. */
  readonly #clearing: Task = {
    step: () => !this.#p.store.deleteSome(this.#p.settings.bounds.pieceUrls),
  };
  /** This agent leaves: everything it has is on the lists of `leave`. */
  #leaving = false;

  constructor(parts: HostMovesParts) {
    this.#p = parts;
  }

  /** An earlier life may have left rows of deleted hosts. */
  start(): void {
    this.#p.backlog.add(this.#clearing);
  }

  reset(): void {
    this.#searches.length = 0;
    this.#unvisited = [];
    this.#stale = null;
  }

  /** Nothing is to be found, listed or brought up to date: a condition of idleness. */
  get isQuiet(): boolean {
    return this.#searches.length === 0 && this.#stale === null;
  }

  get isBusy(): boolean {
    return !this.isQuiet;
  }

  added(member: Member, now: Instant): void {
    const { store, view, handOff } = this.#p;
    const { id } = member.card;
    const names = (host: Host) => view.owner(host) === id;
    const leavers = this.#leaving ? view.leavers() : [];
    handOff.giveFrom(id, { walk: new HostWalk(store), names }, now, leavers);
  }

  /** Its rows are older than what was streamed from it: it was set back (PROTOCOL rule 11). */
  setBack(member: Member, n: number, now: Instant): void {
    const { store } = this.#p;
    const { id } = member.card;
    const hosts = store.forgetMarksAbove(id, n);
    if (hosts.length > 0) this.#p.handOff.give(id, hosts, now);
  }

  /**
   * The member has lost its place on the ring. The hosts that it owned are looked for from now on,
   * first among those with open requests, and go to their new owners.
   *
   * @param placement - the ring on which the member still had its place
   */
  takeOver(member: Member, placement: Assignment, now: Instant): void {
    const { card, heardAt } = member;
    const walk = new HostWalk(this.#p.store);
    const search: Search = { placement, id: card.id, heardAt, walk, mine: 0 };
    const open = [...this.#p.visits.open()].map(({ host }) => host);
    this.#list(search, [...new Set(open)], now);
    // A leaver owns no host. It lists the hosts that it had listed to that member to their new owners.
    if (this.#leaving) this.#listAll((host) => search.placement.owner(host) === search.id, now);
    else this.#searches.push(search);
  }

  /** Lists some hosts of removed members to their new owners. */
  #search(now: Instant): void {
    const [search] = this.#searches;
    if (!search) return;
    const hosts = search.walk.take(this.#p.settings.bounds.hostsPerTurn);
    search.mine += this.#list(search, hosts, now);
    if (!search.walk.isOver) return;
    this.#searches.shift();
    if (search.mine === 0) return;
    const tookMs = Math.round(now.mono - search.heardAt);
    const detail = { from: search.id, hosts: search.mine, tookMs };
    this.#p.events.record(now.mono, 'takeover', detail);
    this.#unvisited.push(search);
  }

  /** Records the first request to a host that was taken over. Called after requests were begun. */
  visited(now: Instant): void {
    if (this.#unvisited.length === 0) return;
    const open = [...this.#p.visits.open()];
    this.#unvisited = this.#unvisited.filter(({ placement, id, heardAt }) => {
      const sinceMs = Math.round(now.mono - heardAt);
      const first = open.find(({ host }) => placement.owner(host) === id);
      if (!first) return sinceMs < UNVISITED_MAX * this.#p.settings.suspectAfterMs;
      const detail = { from: id, host: first.host, firstRequestMs: sinceMs };
      this.#p.events.record(now.mono, 'takeover', detail);
      return false;
    });
  }

  /**
   * Lists those that the removed member owned, or whose rows it streamed here, to their owners; one
   * under a new incarnation of the same identifier gets them as a joiner. Gives the number that
   * fell to this agent.
   */
  #list({ placement, id }: Search, hosts: readonly Host[], now: Instant): number {
    const { store, handOff } = this.#p;
    const owned = hosts.filter((host) => placement.owner(host) === id);
    const streamed = hosts.filter((host) => store.markOf(host, id) > 0);
    const { others } = this.#byOwner([...new Set([...owned, ...streamed])]);
    others.delete(id);
    for (const [owner, named] of others) handOff.give(owner, named, now);
    return this.#byOwner(owned).mine;
  }

  /** This agent leaves the order itself: every member gets a list with the leaving mark. */
  leave(now: Instant): void {
    const { view, handOff } = this.#p;
    view.stopPlacing();
    this.#leaving = true;
    // A member that owes this agent the yield of a host may not know the successor, and this agent may
    // have no rows of the host. The successor has to wait for the host all the same.
    const { others } = this.#byOwner(handOff.awaitedHosts());
    for (const [owner, named] of others) handOff.give(owner, named, now);
    this.#listAll(() => true, now);
  }

  /** To every member, some of the hosts that this agent has rows of and which that member owns. */
  #listAll(some: (host: Host) => boolean, now: Instant): void {
    const { store, view, handOff } = this.#p;
    const leavers = view.leavers();
    for (const { card } of view.members()) {
      const names = (host: Host) => view.owner(host) === card.id && some(host);
      handOff.giveFrom(card.id, { walk: new HostWalk(store), names }, now, leavers);
    }
  }

  #byOwner(hosts: readonly Host[]): { mine: number; others: Map<AgentId, Host[]> } {
    const others = new Map<AgentId, Host[]>();
    let mine = 0;
    for (const host of hosts) {
      const owner = this.#p.view.owner(host);
      if (owner === undefined) continue;
      if (owner === this.#p.settings.id) mine++;
      else append(others, owner, host);
    }
    return { mine, others };
  }

  /** A copy was returned to its owner, who has it at its own backups: deleted if it has no place. */
  returned(items: readonly YieldAckItem[], now: Instant): void {
    const { store, view, settings, handOff, visits, replication, settlement, backlog } = this.#p;
    for (const { host, keep } of items) {
      settlement.returned(host);
      if (!view.owns(host)) store.setOwned(host, false);
      if (keep) continue;
      const order = view.assignment().order(host, settings.backups + 1);
      if (order.includes(settings.id) || handOff.isListed(host) || visits.isOpen(host)) continue;
      visits.dropped(host, now);
      store.deleteHost(host);
      backlog.add(this.#clearing);
      replication.forgetHost(host);
      settlement.dropped(host);
    }
  }

  viewChanged(): void {
    this.#stale = new HostWalk(this.#p.store);
  }

  /** Brings hosts up to date; sends what is due of lists; records hand-offs that are finished. */
  pump(now: Instant): void {
    this.#search(now);
    this.#refresh(now);
    const { visits, right, settlement, replication, handOff, events, budgets } = this.#p;
    const finished = handOff.advance(
      {
        isOpen: (host) => visits.isOpen(host),
        isGiven: (host, to, settleUntil) =>
          replication.isCaughtUp(host, to) &&
          !(this.#leaving && handOff.awaits(host)) &&
          (!settlement.hasUnsettled(host) || now.mono >= settleUntil),
        waitLeftMs: (host, at) => right.waitLeftMs(host, at),
        named: (host, to) => replication.listed(host, to),
        permitsMs: (at) => budgets.permitsMs(at),
      },
      now,
    );
    for (const { to, hosts, tookMs } of finished) {
      if (hosts === 0) continue;
      events.record(now.mono, 'handoff', { to, hosts, tookMs: Math.round(tookMs) });
    }
  }

  #refresh(now: Instant): void {
    const { store, view, settings, handOff } = this.#p;
    const { replication, visits, requeues } = this.#p;
    if (!this.#stale) return;
    const assignment = view.assignment();
    const homeless = new Map<AgentId, Host[]>();
    const hosts = this.#stale.take(settings.bounds.hostsPerTurn);
    if (this.#stale.isOver) this.#stale = null;
    for (const host of hosts) {
      const order = assignment.order(host, settings.backups + 1);
      const owned = order[0] === settings.id;
      // An agent shows its hosts in its views until their new owners say that they have them.
      const isKept = this.#leaving || (order[0] !== undefined && handOff.isGiving(host, order[0]));
      // Before it has joined it may lack members, to whom hosts belong of which it has a copy.
      if (owned ? view.joined : !isKept) store.setOwned(host, owned);
      if (owned) {
        replication.changed(host);
        requeues.received(host);
        if (store.queuedOf(host) > 0) visits.schedule(host);
      } else if (order[0] && !this.#hasPlace(host, order)) {
        append(homeless, order[0], host);
      }
    }
    for (const [owner, hosts] of homeless) handOff.give(owner, hosts, now);
  }

  /** Rows of the host may stay, or are on their way to its owner already. */
  #hasPlace(host: Host, order: readonly AgentId[]): boolean {
    return this.#leaving || order.includes(this.#p.settings.id) || this.#p.handOff.isListed(host);
  }
}

function append(to: Map<AgentId, Host[]>, owner: AgentId, host: Host): void {
  const hosts = to.get(owner);
  if (hosts) hosts.push(host);
  else to.set(owner, [host]);
}
