// Decides which hosts are listed to whom when the view changes (PROTOCOL rules 2 and 3), and
// updates the hosts for the new view: ownership in the SQL views, streams to backups, and visits.
// This runs in the background, some hosts each turn, so that a takeover of thousands does not block
// the loop.

import type { Assignment } from '../../../assignment/assignment.ts';
import type { Instant } from '../../../failure-detector/instant.ts';
import type { Budgets } from '../budgets/budgets.ts';
import type { FetchRight } from '../hand-off/fetch-right.ts';
import type { HandOff, YieldAckItem } from '../hand-off/hand-off.ts';
import { HostWalk } from '../hand-off/host-walk.ts';
import type { Removal } from '../membership/membership.ts';
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

/**
 * Number of `suspectAfterMs` after which a first request no longer counts as part of a takeover.
 */
const UNVISITED_MAX = 4;

/** Why the member has lost its place. `part`: it is no neighbour any more. */
type Lost = Removal | 'part';

/** The search for the hosts of a removed or leaving member. */
interface Search {
  readonly id: AgentId;
  readonly why: Lost;
  /** The last placement that included the member. */
  readonly placement: Assignment;
  /** The last news of the member. */
  readonly heardAt: number;
  readonly walk: HostWalk;
  /** Number of hosts found so far that this agent now owns. */
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
  /** Called for each host of this agent after a change of the view. */
  readonly requeues: { received(host: Host): void };
}

export class HostMoves implements Part {
  readonly #p: HostMovesParts;
  /** Unfinished searches; filled by `takeOver`, emptied by `pump`. */
  readonly #searches: Search[] = [];
  /** Takeovers whose first request is not recorded yet; dropped after `UNVISITED_MAX`. */
  #unvisited: Search[] = [];
  /** The hosts to update for the current view; null: all are up to date. */
  #stale: HostWalk | null = null;
  /** Deletes the rows of deleted hosts. */
  readonly #clearing: Task = {
    step: () => !this.#p.store.deleteSome(this.#p.settings.bounds.pieceUrls),
  };
  /** This agent leaves: all its hosts are on the lists of `leave`. */
  #leaving = false;

  constructor(parts: HostMovesParts) {
    this.#p = parts;
  }

  /** An earlier run may have left rows of deleted hosts. */
  start(): void {
    this.#p.backlog.add(this.#clearing);
  }

  reset(): void {
    this.#searches.length = 0;
    this.#unvisited = [];
    this.#stale = null;
  }

  get isQuiet(): boolean {
    return this.#searches.length === 0 && this.#stale === null;
  }

  get isBusy(): boolean {
    return !this.isQuiet;
  }

  /**
   * Lists its hosts to a member.
   *
   * @param gone - agents of which the member knows that they leave; some may have left
   */
  added(member: Member, now: Instant, gone: readonly AgentId[] = []): void {
    const { store, view, handOff } = this.#p;
    const { id } = member.card;
    const names = (host: Host) => view.probableOwner(host) === id;
    const unplaced = gone.filter((one) => view.get(one)?.leaving ?? true);
    const leavers = this.#leaving ? [...new Set([...view.leavers(), ...unplaced])] : [];
    handOff.giveFrom(id, { walk: new HostWalk(store), names }, now, leavers);
  }

  /** The member has an old database, with rows up to `n` (PROTOCOL rule 11). */
  setBack(member: Member, n: number, now: Instant): void {
    const { store } = this.#p;
    const { id } = member.card;
    const hosts = store.forgetMarksAbove(id, n);
    if (hosts.length > 0) this.#p.handOff.give(id, hosts, now);
  }

  /**
   * Begins to list the hosts of a member that has lost its place on the ring to their new owners,
   * first those with open requests.
   *
   * @param placement - the ring on which the member still had its place
   */
  takeOver(member: Member, why: Lost, placement: Assignment, now: Instant): void {
    const { id } = member.card;
    const walk = new HostWalk(this.#p.store);
    const search: Search = { id, why, placement, heardAt: member.heardAt, walk, mine: 0 };
    const open = [...this.#p.visits.open()].map(({ host }) => host);
    this.#list(search, [...new Set(open)], now);
    // A leaver owns no hosts. It lists again those that it had listed to the member.
    if (this.#leaving) this.#listAll((host) => placement.owner(host) === id, now);
    else this.#searches.push(search);
  }

  /** Continues the first search. */
  #search(now: Instant): void {
    const [search] = this.#searches;
    if (!search) return;
    const hosts = search.walk.take(this.#p.settings.bounds.hostsPerTurn);
    search.mine += this.#list(search, hosts, now);
    if (!search.walk.isOver) return;
    this.#searches.shift();
    if (search.mine === 0) return;
    const tookMs = Math.round(now.mono - search.heardAt);
    const detail = { from: search.id, why: search.why, hosts: search.mine, tookMs };
    this.#p.events.record(now.mono, 'takeover', detail);
    this.#unvisited.push(search);
  }

  /** Records the first request after each takeover. Called after requests were started. */
  visited(now: Instant): void {
    if (this.#unvisited.length === 0) return;
    const open = [...this.#p.visits.open()];
    this.#unvisited = this.#unvisited.filter(({ placement, id, why, heardAt }) => {
      const sinceMs = Math.round(now.mono - heardAt);
      const first = open.find(({ host }) => placement.owner(host) === id);
      if (!first) return sinceMs < UNVISITED_MAX * this.#p.settings.suspectAfterMs;
      const detail = { from: id, why, host: first.host, firstRequestMs: sinceMs };
      this.#p.events.record(now.mono, 'takeover', detail);
      return false;
    });
  }

  /**
   * Lists those of the hosts that the member owned, or whose rows it streamed here, to their
   * owners. A new incarnation of the member gets its own list when it is added.
   *
   * @returns how many hosts of the member this agent now owns
   */
  #list({ placement, id }: Search, hosts: readonly Host[], now: Instant): number {
    const { store, view, handOff } = this.#p;
    const owned = hosts.filter((host) => placement.owner(host) === id);
    const streamed = hosts.filter((host) => store.markOf(host, id) > 0);
    const its = [...new Set([...owned, ...streamed])];
    const { others } = this.#byOwner(its);
    others.delete(id);
    // In a partial view, the owner may be known later.
    const unknown = view.assignment().nearest ? its : [];
    for (const host of unknown) if (view.owner(host) === undefined) handOff.unplaced.add(host);
    for (const [owner, named] of others) handOff.give(owner, named, now);
    return this.#byOwner(owned).mine;
  }

  /** Removes this agent from the ring; every member gets a list with `leavers`. */
  leave(now: Instant): void {
    const { view, handOff } = this.#p;
    view.stopPlacing();
    this.#leaving = true;
    // The successor must await these hosts, too: the member that is to yield one to this agent may
    // not know the successor, and this agent may have no rows of the host.
    const { others } = this.#byOwner(handOff.awaitedHosts());
    for (const [owner, named] of others) handOff.give(owner, named, now);
    this.#listAll(() => true, now);
  }

  /** Lists to every member those of its hosts that have rows here and match `some`. */
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

  /**
   * The owners have the hosts at their backups. Deletes copies that are not needed here any more.
   */
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

  /** Updates all hosts again. */
  lookAgain(): void {
    this.#stale = new HostWalk(this.#p.store);
  }

  viewChanged(now: Instant): void {
    const { view, visits, handOff, settings } = this.#p;
    this.lookAgain();
    if (!view.assignment().nearest) return;
    // In a partial view, another agent may know that it owns the host before this one does.
    for (const { host } of visits.open()) {
      const owner = view.probableOwner(host);
      if (owner === undefined || owner === settings.id || handOff.isListed(host)) continue;
      handOff.give(owner, [host], now);
    }
  }

  /** Updates some hosts, sends lists and YIELDs that are due, and records finished hand-offs. */
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
    const { store, view, settings, handOff, replication, visits, requeues } = this.#p;
    if (!this.#stale) return;
    const assignment = view.assignment();
    const misplaced = new Map<AgentId, Host[]>();
    const hosts = this.#stale.take(settings.bounds.hostsPerTurn);
    if (this.#stale.isOver) this.#stale = null;
    for (const host of hosts) {
      const order = assignment.order(host, settings.backups + 1);
      const owned = order[0] === settings.id;
      // The SQL views show a host until its new owner has acknowledged it.
      const isKept = this.#leaving || (order[0] !== undefined && handOff.isGiving(host, order[0]));
      // Before the join, the owners of some copies here may not be in view yet.
      if (owned ? view.joined : !isKept) store.setOwned(host, owned);
      if (owned) {
        replication.changed(host);
        requeues.received(host);
        if (store.queuedOf(host) > 0) visits.schedule(host);
      } else if (order[0] && this.#mustList(host, order)) {
        append(misplaced, order[0], host);
      }
    }
    for (const [owner, hosts] of misplaced) handOff.give(owner, hosts, now);
  }

  /** Whether the owner must get the rows of the host, and no list to it has the host. */
  #mustList(host: Host, order: readonly AgentId[]): boolean {
    const { settings, handOff } = this.#p;
    if (this.#leaving || handOff.isListed(host)) return false;
    return !order.includes(settings.id) || handOff.unplaced.has(host);
  }
}

function append(to: Map<AgentId, Host[]>, owner: AgentId, host: Host): void {
  const hosts = to.get(owner);
  if (hosts) hosts.push(host);
  else to.set(owner, [host]);
}
