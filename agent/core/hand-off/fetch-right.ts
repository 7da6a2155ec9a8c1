// The fetch right (PROTOCOL rules 6 and 7): at most one agent sends requests to
// a host at any moment. The right is derived, never stored: this agent has joined, is first in the
// host's order, no hand-off list is owed to it and nobody has listed the host without yielding it.
// It may be used only under a lease, an echo of a heartbeat sent less than `leaseMs` ago by the
// one who would take over. The visits ask before every request, the fetcher again at connect.

import type { Assignment } from '../../../assignment/assignment.ts';
import type { Instant } from '../../../failure-detector/instant.ts';
import type { Lease } from '../../../failure-detector/lease.ts';
import type { View } from '../membership/view.ts';
import type { Host } from '../protocol/messages.ts';
import type { Part } from '../protocol/part.ts';
import type { CoreSettings } from '../protocol/settings.ts';
import type { HandOff } from './hand-off.ts';

/** `blocked` ends by an event, upon which the visits are woken; `foreign` hosts are not ours. */
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

/** Past waits are swept from the map when it has grown by so many entries. */
const SWEEP_EVERY = 4096;

/** Hosts held at a time. One that has not been asked for longest is taken up again if it must be. */
export const HELD_MAX = 50_000;
/** View changes that wait to be swept; beyond it every host is taken up anew, after its delay. */
const SWEEPS_MAX = 16;
/** Held hosts looked at in one sweep: some ten milliseconds. */
const HELD_PER_SWEEP = 1000;

/** The losses of one view change: `next` hosts have been looked at. */
interface Sweep {
  readonly change: number;
  readonly placement: Assignment;
  readonly hosts: readonly Host[];
  next: number;
}

export class FetchRight implements Part {
  readonly #settings: CoreSettings;
  readonly #view: View;
  readonly #lease: Lease;
  readonly #handOff: Pick<HandOff, 'awaits' | 'owedAny'>;
  /** The host's delay, as far as it is known: also what a former owner told of it. */
  readonly #delayOf: (host: Host) => number;
  /**
   * Hosts whose waits this agent has taken up, with the number of view changes before that; the one
   * asked for last at the end.
   */
  readonly #held = new Map<Host, number>();
  #changes = 0;
  /** Views whose losses are still to be taken from `#held`; one a change, emptied by sweeps. */
  readonly #unswept: Sweep[] = [];
  /** Earliest next request by host; entries in the past are swept. */
  readonly #wait = new Map<Host, number>();
  #sweepAt = SWEEP_EVERY;
  #removedAt = 0;
  #startAt = 0;
  /** No new requests: this agent is leaving or stopping. */
  closed = false;

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

  /** A new incarnation holds nothing, and starts with every host waiting its delay. */
  reset(now: Instant): void {
    this.releaseAll();
    this.#startAt = now.mono;
    this.memberRemoved(now.mono);
  }

  /** No host has the right: this agent has not joined, or is leaving or stopping. */
  get isShut(): boolean {
    return !this.#view.joined || this.closed;
  }

  /** Someone was removed or reborn: a host that looks unknown may have been visited just now. */
  memberRemoved(at: number): void {
    this.#removedAt = at;
  }

  /**
   * Whether a request to the host may start now. `neverFetched`: this agent never sent it a request;
   * then it is taken up without a delay unless somebody was removed or reborn within one.
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
      if (!(neverFetched && isStable)) this.waitUntil(host, now.mono + delay);
    } else this.#hold(host, this.#held.get(host)!);
    const untilMs = this.#wait.get(host) ?? 0;
    if (untilMs > now.mono) return { kind: 'wait', untilMs };
    return this.leased(host, now) ? GRANTED : NO_LEASE;
  }

  /** Whether a request that is about to be written may be: the right itself, at this moment. */
  holds(host: Host, now: Instant): boolean {
    return (
      this.#view.joined && this.#view.owns(host) && this.#holds(host) && this.leased(host, now)
    );
  }

  /** Whether a request that is open may go on: an owner that follows waits for the yield. */
  mayGoOn(host: Host, now: Instant): boolean {
    return this.#view.joined && this.leased(host, now);
  }

  /** Whether the lease grantor of the host has just joined: it has echoed no heartbeat yet. */
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

  /**
   * How long whoever would take over is sure not to have done so, without another echo; 0: that is
   * not known. Under `majority`: as long as more than half cannot have.
   */
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
    return left.sort((a, b) => b - a)[Math.floor(configured.length / 2)] ?? 0;
  }

  /** More than half of the configured members, this one counted, echoed a recent heartbeat. */
  #quorumLease(now: Instant): boolean {
    let votes = 0;
    for (const { id } of this.#settings.configured) {
      if (id === this.#settings.id || (this.#view.has(id) && this.#lease.holds(id, now))) votes++;
    }
    return votes * 2 > this.#settings.configured.length;
  }

  /** The host is not asked again before `untilMs` (a delay, a back-off, a yield's wait). */
  waitUntil(host: Host, untilMs: number): void {
    if ((this.#wait.get(host) ?? 0) < untilMs) this.#wait.set(host, untilMs);
  }

  /** What is left of the host's wait, for a yield; at least one delay from this agent's start. */
  waitLeftMs(host: Host, now: Instant): number {
    const since = this.#startAt + this.#delayOf(host);
    return Math.max(0, Math.max(this.#wait.get(host) ?? 0, since) - now.mono);
  }

  release(host: Host): void {
    this.#held.delete(host);
  }

  releaseAll(): void {
    this.#held.clear();
    this.#unswept.length = 0;
  }

  /**
   * Gives up every host that the view has given to another: for good, though a later view may give
   * it back. The placement of this view is kept, and applied to each host when it is asked for or
   * when the sweep reaches it: a hundred thousand look-ups at once would hold up the heartbeats.
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

  /** Sweeps the held hosts and the waits, some of them at a time. */
  pump(now: Instant): void {
    this.#sweepHeld();
    if (this.#wait.size < this.#sweepAt) return;
    for (const [host, until] of this.#wait) if (until <= now.mono) this.#wait.delete(host);
    this.#sweepAt = this.#wait.size + SWEEP_EVERY;
  }
}
