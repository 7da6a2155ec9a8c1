// The schedule of the hosts that have queued URLs and are not visited, each with the reason why it
// waits. A ready host waits for a thread in one of three lines: new hosts in the order of their
// discovery, hosts that come back from a visit in the order in which they became ready, and hosts
// that are known as slow. New hosts and those that come back take turns. In the line of slow hosts
// the one that stops being slow first is first, so a host stands there longer the longer its requests
// took, but not for ever. All other hosts wait for a time or for an event.
//
// Pages may name millions of hosts, so only the first of the new hosts are in memory. The others are
// read from the store when their turn comes: `#restFrom` is the number from which on every ready
// host that is not in memory is still to be read. Hosts that wait for a time or an event are in
// memory: a visit has been at each of them, so the speed of the crawl bounds them, not what its
// pages name.

import type { Host } from '../../core/protocol/messages.ts';
import type { QueuedHost } from '../frontier-store.ts';
import { MinHeap } from './min-heap.ts';
import type { Line } from './places.ts';

/**
 * Until when a host waits for a time:
 *
 * - `delay`: its delay or its back-off is over.
 * - `retries`: the first of its URLs may be tried again. A fresh URL ends this wait.
 * - `outbox`: the URLs that its pages named may have been sent.
 */
export type TimedWait = 'delay' | 'retries' | 'outbox';

/**
 * What a host waits for:
 *
 * - `right`: this agent may send requests to it, after the next change of the view or a yield.
 * - `robots`: another agent tells the rules of a robots.txt to which its own leads.
 * - `permit`: its address is free.
 */
export type AwaitedEvent = 'right' | 'robots' | 'permit';

/**
 * New hosts in memory, as many that come back, and as many slow ones. Beyond it, half of the new
 * ones are dropped.
 */
export const READY_MAX = 2000;
/** Hosts read from the store at a time: about a millisecond. */
export const READ_MAX = 500;
/** Hosts that are looked at, or woken, in one turn: some milliseconds. */
export const LOOKS_MAX = 500;

export interface KnownHosts {
  numberOf(host: Host): number;
  /** The first hosts with queued URLs from that number on, in the order of their numbers. */
  queuedFrom(number: number, max: number): readonly QueuedHost[];
}

/** Why a host waits: for a thread in one of the lines, for a time, or for an event. */
export type Wait =
  | { readonly kind: 'new' }
  | { readonly kind: 'back' }
  | { readonly kind: 'slow'; readonly untilMs: number }
  | { readonly kind: 'time'; readonly untilMs: number; readonly why: TimedWait }
  | { readonly kind: 'event'; readonly why: AwaitedEvent };

export interface Ready {
  readonly host: Host;
  readonly line: Line;
}

const NEW: Wait = { kind: 'new' };
const BACK: Wait = { kind: 'back' };

/** What a change that may concern every host has still to do. */
interface Walk {
  readonly hosts: Iterator<Host>;
  /** Hosts that are added later need no look, or a look more does no harm. */
  left: number;
  readonly owns: ((host: Host) => boolean) | null;
  readonly wakes: boolean;
  readonly rechecks: ((host: Host) => boolean) | null;
}

export class HostSchedule {
  readonly #waiting = new Map<Host, Wait>();
  /** New hosts in memory by their numbers; some entries are stale. */
  #new = new MinHeap<Host>();
  /** How many hosts wait as new ones. */
  #newCount = 0;
  /** Ready hosts that were visited before. */
  readonly #back = new Set<Host>();
  /** Hosts known as slow by until when; some entries are stale. */
  readonly #slow = new MinHeap<Host>();
  #slowCount = 0;
  readonly #byTime = new MinHeap<Host>();
  readonly #forEvents = new Set<Host>();
  readonly #known: KnownHosts;
  readonly #isVisited: (host: Host) => boolean;
  readonly #slowUntil: (host: Host) => number;
  #now = 0;
  /** Infinity: every ready host is in memory. */
  #restFrom = Infinity;
  #turn: 'new' | 'back' = 'back';
  /** One for all changes: a later one begins it anew. Hundreds of thousands may wait. */
  #walk: Walk | null = null;

  /**
   * @param isVisited - a visit is at the host, so it does not wait though it has a queue
   * @param slowUntil - until when the host is known as slow
   */
  constructor(
    known: KnownHosts,
    isVisited: (host: Host) => boolean,
    slowUntil: (host: Host) => number = () => 0,
  ) {
    this.#known = known;
    this.#isVisited = isVisited;
    this.#slowUntil = slowUntil;
  }

  isEmpty(): boolean {
    return this.#waiting.size === 0 && this.#restFrom === Infinity;
  }

  /** How many hosts are in memory. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Forgets the hosts that are another agent's now, the first of them at once. */
  keepOnly(owns: (host: Host) => boolean): void {
    this.#walkAnew({ owns });
  }

  #walkAnew(change: Partial<Pick<Walk, 'owns' | 'wakes' | 'rechecks'>>): void {
    const { owns = null, wakes = false, rechecks = null } = this.#walk ?? {};
    // To recheck one that is not named costs a look.
    const both = rechecks && change.rechecks ? () => true : (change.rechecks ?? rechecks);
    this.#walk = {
      hosts: this.#waiting.keys(),
      left: this.#waiting.size,
      owns: change.owns ?? owns,
      wakes: change.wakes ?? wakes,
      rechecks: both,
    };
    this.goOn();
  }

  /** Goes on, for some hosts, with what concerns all. */
  goOn(): void {
    const walk = this.#walk;
    if (walk === null) return;
    for (let looks = Math.min(LOOKS_MAX, walk.left); looks > 0; looks--, walk.left--) {
      const { done, value: host } = walk.hosts.next();
      if (done) walk.left = 0;
      else this.#look(walk, host);
    }
    if (walk.left <= 0) this.#walk = null;
  }

  #look({ owns, wakes, rechecks }: Walk, host: Host): void {
    if (owns && !owns(host)) return this.#remove(host);
    if (wakes) this.wake(host);
    if (rechecks?.(host)) this.recheck(host);
  }

  has(host: Host): boolean {
    return this.#waiting.has(host);
  }

  /** The host has a fresh URL: it need not sleep until its other URLs may be tried again. */
  schedule(host: Host): void {
    const wait = this.#waiting.get(host);
    if (wait === undefined) this.#addNew(host, this.#known.numberOf(host));
    else if (wait.kind === 'time' && wait.why === 'retries') this.comeBack(host);
  }

  #addNew(host: Host, number: number): void {
    if (number >= this.#restFrom) return;
    this.#waiting.set(host, NEW);
    this.#newCount++;
    this.#new.push(number, host);
    if (this.#newCount > READY_MAX) this.#dropHalf();
  }

  /** Leaves the later half of the new hosts to the store. */
  #dropHalf(): void {
    const kept = new MinHeap<Host>();
    while (this.#new.size > 0) {
      const number = this.#new.firstKey;
      const host = this.#new.pop()!;
      if (this.#waiting.get(host)?.kind !== 'new') continue;
      if (kept.size < READY_MAX / 2) {
        kept.push(number, host);
        continue;
      }
      this.#remove(host);
      this.#restFrom = Math.min(this.#restFrom, number);
    }
    this.#new = kept;
  }

  /** A host that was visited is ready again. */
  comeBack(host: Host): void {
    this.#remove(host);
    if (this.#isSlow(host)) this.#addSlow(host);
    else if (this.#back.size < READY_MAX) {
      this.#waiting.set(host, BACK);
      this.#back.add(host);
    } else this.#addNew(host, this.#known.numberOf(host));
  }

  #isSlow(host: Host): boolean {
    return this.#slowUntil(host) > this.#now && this.#slowCount < READY_MAX;
  }

  #addSlow(host: Host): void {
    const untilMs = this.#slowUntil(host);
    this.#waiting.set(host, { kind: 'slow', untilMs });
    this.#slowCount++;
    this.#slow.push(untilMs, host);
  }

  #remove(host: Host): void {
    const kind = this.#waiting.get(host)?.kind;
    if (kind === 'new') this.#newCount--;
    if (kind === 'slow') this.#slowCount--;
    this.#waiting.delete(host);
    this.#back.delete(host);
    this.#forEvents.delete(host);
  }

  /** Why the host waits; undefined: it is visited, has no queue, or is still to be read. */
  waitOf(host: Host): Wait | undefined {
    return this.#waiting.get(host);
  }

  sleep(host: Host, untilMs: number, why: TimedWait): void {
    this.#remove(host);
    this.#waiting.set(host, { kind: 'time', untilMs, why });
    this.#byTime.push(untilMs, host);
  }

  waitFor(host: Host, why: AwaitedEvent): void {
    this.#remove(host);
    this.#waiting.set(host, { kind: 'event', why });
    this.#forEvents.add(host);
  }

  /** What the host waits for may have happened. */
  wake(host: Host): void {
    if (this.#forEvents.has(host)) this.comeBack(host);
  }

  /** Whatever it waits for, it is looked at again. */
  recheck(host: Host): void {
    const kind = this.#waiting.get(host)?.kind;
    if (kind === 'time' || kind === 'event') this.comeBack(host);
  }

  /** As `recheck` those that are named, the first of them at once. */
  recheckAll(named: (host: Host) => boolean): void {
    this.#walkAnew({ rechecks: named });
  }

  /** As `wake` all, the first of them at once. */
  wakeAll(): void {
    if (this.#forEvents.size > 0) this.#walkAnew({ wakes: true });
  }

  /**
   * Makes those ready whose sleep is over, some at a time; who is not known as slow any more leaves
   * that line.
   */
  wakeUntil(now: number): void {
    this.#now = now;
    let left = LOOKS_MAX;
    for (const heap of [this.#byTime, this.#slow]) {
      for (; left > 0 && heap.firstKey <= now; left--) {
        const host = this.#popCurrent(heap);
        if (host !== undefined) this.comeBack(host);
      }
    }
  }

  /** The first of the heap, unless its entry is stale. */
  #popCurrent(heap: MinHeap<Host>): Host | undefined {
    const untilMs = heap.firstKey;
    const host = heap.pop();
    const wait = host === undefined ? undefined : this.#waiting.get(host);
    const kind = heap === this.#slow ? 'slow' : 'time';
    return wait?.kind === kind && wait.untilMs === untilMs ? host : undefined;
  }

  /**
   * The next ready host of the lines that may have a visit, taken out. Undefined: none is ready, or
   * the hosts that were just read from the store are not; `hasReady` tells which.
   */
  takeReady(mayEnter: (line: Line) => boolean): Ready | undefined {
    for (const line of ['slow', this.#turn, this.#turn === 'new' ? 'back' : 'new'] as const) {
      const host = mayEnter(line) ? this.#take(line) : undefined;
      if (host === undefined) continue;
      if (line !== 'slow') this.#turn = line === 'new' ? 'back' : 'new';
      return { host, line };
    }
    return undefined;
  }

  #take(line: Line): Host | undefined {
    if (line === 'new') return this.#takeNew();
    return line === 'back' ? this.#takeBack() : this.#takeSlow();
  }

  #takeSlow(): Host | undefined {
    while (this.#slowCount > 0) {
      const host = this.#popCurrent(this.#slow);
      if (host === undefined) continue;
      this.#remove(host);
      return host;
    }
    return undefined;
  }

  #takeBack(): Host | undefined {
    const [host] = this.#back;
    if (host !== undefined) this.#remove(host);
    return host;
  }

  #takeNew(): Host | undefined {
    if (this.#newCount === 0) this.#readMore();
    for (let host = this.#new.pop(); host !== undefined; host = this.#new.pop()) {
      if (this.#waiting.get(host)?.kind !== 'new') continue;
      this.#remove(host);
      // It was read from the store again.
      if (this.#isSlow(host)) this.#addSlow(host);
      else return host;
    }
    return undefined;
  }

  #readMore(): void {
    if (this.#restFrom === Infinity) return;
    const read = this.#known.queuedFrom(this.#restFrom, READ_MAX);
    this.#restFrom = Infinity;
    for (const { number, host, owned } of read) {
      const isElsewhere = this.#waiting.has(host) || this.#isVisited(host);
      if (owned && !isElsewhere) this.#addNew(host, number);
    }
    if (read.length === READ_MAX) this.#restFrom = read.at(-1)!.number + 1;
  }

  /** Whether a host of the line is ready, or may be. */
  hasReady(line: Line): boolean {
    if (line === 'slow') return this.#slowCount > 0;
    if (line === 'back') return this.#back.size > 0;
    return this.#newCount > 0 || this.#restFrom < Infinity;
  }

  /** When there is something to do by time: `wakeUntil`, or at once `goOn`. */
  nextWakeMs(): number {
    if (this.#walk !== null) return 0;
    return Math.min(this.#byTime.firstKey, this.#slow.firstKey);
  }
}
