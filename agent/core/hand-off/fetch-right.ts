// The fetch right: at most one agent at a time sends requests to a host (PROTOCOL rules 6 and 7).
// The right follows from the agent's state and is never stored. Visits check it before every
// request, and the fetcher again when the connection is open.

import type { Assignment } from '../../../assignment/assignment.ts';
import type { Instant } from '../../../failure-detector/instant.ts';
import type { Lease } from '../../../failure-detector/lease.ts';
import type { View } from '../membership/view.ts';
import type { Host } from '../protocol/messages.ts';
import type { Part } from '../protocol/part.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { HandOff } from './hand-off.ts';

/**
 * - `wait`: until a delay, back-off or yielded wait ends.
 * - `no-lease`: until the lease is granted.
 * - `blocked`: until an event, which wakes the visits.
 * - `foreign`: another agent owns the host.
 */
export type Right =
  | { readonly kind: 'granted' }
  | { readonly kind: 'wait'; readonly untilMs: number }
  | { readonly kind: 'no-lease' }
  | { readonly kind: 'blocked' }
  | { readonly kind: 'foreign' };

const GRANTED: Right = { kind: 'granted' };
const NO_LEASE: Right = { kind: 'no-lease' };
const BLOCKED: Right = { kind: 'blocked' };
const FOREIGN: Right = { kind: 'foreign' };

/** The maps of waits and delays are swept when they have grown by this many entries. */
const SWEEP_EVERY = 4096;

/** Maximum number of held hosts. Beyond it the least recently checked host is released. */
export const HELD_MAX = 50_000;
/** Maximum number of unfinished sweeps. Beyond it all hosts are released. */
const SWEEPS_MAX = 16;
/** Held hosts checked in one turn: about ten milliseconds. */
const HELD_PER_SWEEP = 1000;

/** Releases the hosts that a change of the view gave to others; `next` hosts have been checked. */
interface Sweep {
  readonly change: number;
  readonly placement: Assignment;
  readonly hosts: readonly Host[];
  next: number;
}

/**
 * The delay after a request to a host, or after the host was taken up.
 *
 * @property ms - as it was at `from`: a directive may have changed it since
 */
interface Delay {
  readonly from: number;
  readonly ms: number;
}

export class FetchRight implements Part {
  readonly #settings: CoreSettings;
  readonly #view: View;
  readonly #lease: Lease;
  readonly #handOff: Pick<HandOff, 'awaits' | 'owedAny'>;
  /** The host's delay, including what a previous owner reported. */
  readonly #delayOf: (host: Host) => number;
  /**
   * The held hosts, with the number of view changes when each was taken up; the most recently
   * checked host is last. Filled by `check`, emptied by releases, sweeps and `HELD_MAX`.
   */
  readonly #held = new Map<Host, number>();
  #changes = 0;
  /** One for each change of the view, the oldest first; at most `SWEEPS_MAX`, emptied by `pump`. */
  readonly #unswept: Sweep[] = [];
  /** The end of a back-off or of a yielded wait, by host; past entries are swept. */
  readonly #wait = new Map<Host, number>();
  /** The delay that each host waits or has waited for; past entries are swept. */
  readonly #delays = new Map<Host, Delay>();
  #sweepAt = SWEEP_EVERY;
  #removedAt = 0;
  #startAt = 0;
  /** No new requests: this agent is leaving or stopping. */
  closed = false;
  /** No new requests for now: this agent is about to take another incarnation. */
  suspended = false;

  constructor(
    settings: CoreSettings,
    view: View,
    lease: Lease,
    handOff: Pick<HandOff, 'awaits' | 'owedAny'>,
    delayOf: (host: Host) => number,
  ) {
    this.#settings = settings;
    this.#view = view;
    this.#lease = lease;
    this.#handOff = handOff;
    this.#delayOf = delayOf;
  }

  /** A new incarnation holds no hosts, and each host waits one delay. */
  reset(now: Instant): void {
    this.releaseAll();
    this.#startAt = now.mono;
    this.memberRemoved(now.mono);
  }

  /** No request may start: this agent has not joined, is leaving or stopping, or is suspended. */
  get isShut(): boolean {
    return !this.#view.joined || this.closed || this.suspended;
  }

  /** A removed or reborn agent may just have requested a host that seems never fetched here. */
  memberRemoved(at: number): void {
    this.#removedAt = at;
  }

  /**
   * Whether a request to the host may start now; takes the host up if possible.
   *
   * @param neverFetched - this agent never sent the host a request, so no delay is needed unless a
   *   member was removed, or this agent reborn, within one delay
   */
  check(host: Host, now: Instant, neverFetched: boolean): Right {
    if (this.isShut) return BLOCKED;
    if (!this.#view.owns(host)) return FOREIGN;
    if (this.#handOff.awaits(host)) return BLOCKED;
    if (!this.#holds(host)) {
      if (this.#handOff.owedAny()) return BLOCKED;
      this.#hold(host, this.#changes);
      const delay = this.#delayOf(host);
      const isStable = now.mono - this.#removedAt > delay;
      if (!(neverFetched && isStable)) this.delay(host, now.mono, delay);
    } else this.#hold(host, this.#held.get(host)!);
    const untilMs = this.#waitOf(host);
    if (untilMs > now.mono) return { kind: 'wait', untilMs };
    return this.leased(host, now) ? GRANTED : NO_LEASE;
  }

  /** Whether a request may still be sent now that its connection is open. */
  holds(host: Host, now: Instant): boolean {
    return (
      this.#view.joined && this.#view.owns(host) && this.#holds(host) && this.leased(host, now)
    );
  }

  /**
   * Whether an open request may continue. Ownership is no condition: a new owner awaits the YIELD.
   */
  mayGoOn(host: Host, now: Instant): boolean {
    return this.#view.joined && this.leased(host, now);
  }

  /** Whether the host's lease grantor has echoed no heartbeat yet, because it has just joined. */
  isLeaseGrantorNew(host: Host): boolean {
    if (this.#settings.quorum === 'majority') return false;
    const grantor = this.#view.leaseGrantor(host);
    return grantor !== undefined && !this.#lease.hasEchoOf(grantor.card.id);
  }

  leased(host: Host, now: Instant): boolean {
    if (this.#settings.quorum === 'majority') return this.#quorumLease(now);
    const grantor = this.#view.leaseGrantor(host);
    return grantor === undefined || this.#lease.holds(grantor.card.id, now);
  }

  /** How long the lease lasts without another echo, in milliseconds; 0: there is none. */
  leaseLeftMs(name: string, now: Instant): number {
    if (this.#settings.quorum === 'majority') return this.#quorumLeaseLeftMs(now);
    const grantor = this.#view.leaseGrantor(name);
    return grantor === undefined ? Infinity : this.#lease.remainingMs(grantor.card.id, now);
  }

  #quorumLeaseLeftMs(now: Instant): number {
    const { configured, id: me } = this.#settings;
    const left = configured.map(({ id }) => {
      if (id === me) return Infinity;
      return this.#view.has(id) ? this.#lease.remainingMs(id, now) : 0;
    });
    // More than half of the agents grant as long as the middle one does.
    return left.sort((a, b) => b - a)[Math.floor(configured.length / 2)] ?? 0;
  }

  /** Whether more than half of the configured agents, this one included, grant the lease. */
  #quorumLease(now: Instant): boolean {
    let votes = 0;
    for (const { id } of this.#settings.configured) {
      if (id === this.#settings.id || (this.#view.has(id) && this.#lease.holds(id, now))) votes++;
    }
    return votes * 2 > this.#settings.configured.length;
  }

  /** The next request to the host starts one delay after `from`: the one then in force. */
  delay(host: Host, from: number, ms: number): void {
    const known = this.#delays.get(host);
    if (known === undefined || known.from <= from) this.#delays.set(host, { from, ms });
  }

  /** The earliest time of the next request to the host. */
  #waitOf(host: Host): number {
    const waitMs = this.#wait.get(host) ?? 0;
    const delay = this.#delays.get(host);
    return delay === undefined ? waitMs : Math.max(waitMs, delay.from + this.#delayOf(host));
  }

  /** No request to the host starts before `untilMs`, for a back-off or a yielded wait. */
  waitUntil(host: Host, untilMs: number): void {
    if ((this.#wait.get(host) ?? 0) < untilMs) this.#wait.set(host, untilMs);
  }

  /** The rest of the host's wait, for a YIELD: at least one delay from the start of this agent. */
  waitLeftMs(host: Host, now: Instant): number {
    const since = this.#startAt + this.#delayOf(host);
    return Math.max(0, Math.max(this.#waitOf(host), since) - now.mono);
  }

  release(host: Host): void {
    this.#held.delete(host);
  }

  releaseAll(): void {
    this.#held.clear();
    this.#unswept.length = 0;
  }

  /**
   * Releases every host that has another owner in the new view, even if a later view gives it back.
   * The placement is applied to a host when it is checked or when the sweep reaches it: looking up
   * all hosts at once would delay heartbeats.
   */
  viewChanged(): void {
    if (this.#held.size === 0) return;
    if (this.#unswept.length >= SWEEPS_MAX) return this.releaseAll();
    const change = ++this.#changes;
    const hosts = [...this.#held.keys()];
    this.#unswept.push({ change, placement: this.#view.assignment(), hosts, next: 0 });
  }

  #hold(host: Host, since: number): void {
    this.#held.delete(host);
    this.#held.set(host, since);
    if (this.#held.size <= HELD_MAX) return;
    const [first] = this.#held.keys();
    this.#held.delete(first!);
  }

  #holds(host: Host): boolean {
    for (const sweep of this.#unswept) this.#apply(sweep, host);
    return this.#held.has(host);
  }

  #apply({ change, placement }: Sweep, host: Host): void {
    const since = this.#held.get(host);
    if (since === undefined || since >= change) return;
    if (placement.owner(host) !== this.#view.me) this.#held.delete(host);
  }

  #sweepHeld(): void {
    const [sweep] = this.#unswept;
    if (!sweep) return;
    const end = Math.min(sweep.next + HELD_PER_SWEEP, sweep.hosts.length);
    for (; sweep.next < end; sweep.next++) this.#apply(sweep, sweep.hosts[sweep.next]!);
    if (end === sweep.hosts.length) this.#unswept.shift();
  }

  /** Sweeps some held hosts, and the waits if there are many. */
  pump(now: Instant): void {
    this.#sweepHeld();
    if (this.#wait.size + this.#delays.size < this.#sweepAt) return;
    for (const [host, until] of this.#wait) if (until <= now.mono) this.#wait.delete(host);
    for (const [host, { from, ms }] of this.#delays) {
      if (from + ms <= now.mono) this.#delays.delete(host);
    }
    this.#sweepAt = this.#wait.size + this.#delays.size + SWEEP_EVERY;
  }
}
