// Hosts that have queued URLs and are not visited: new ones in the order of their discovery, those
// that come back from a visit in the order in which they became ready, sleeping ones by the time
// their wait ends, blocked ones until an event frees them. New hosts and those that come back take
// turns, so neither waits for all of the other kind. Those that are known as slow have a line of
// their own, in which whoever is to be known as slow for the shortest time is first: the longer its
// requests took the longer a host stands there, but not for ever.
//
// Pages may name millions of hosts, so only the first of the new hosts are in memory. The others are
// read from the store when their turn comes: `#restFrom` is the number from which on every ready
// host that is not in memory is still to be read. Sleeping and blocked hosts are in memory: a visit
// has been at each of them, so the speed of the crawl bounds them, not what its pages name.

import type { Host } from '../../core/protocol/messages.ts';
import type { QueuedHost } from '../frontier-store.ts';
import { MinHeap } from './min-heap.ts';
import type { Line } from './places.ts';

/** Whose wait a host sleeps out: its own, or that of every URL in its queue. */
export type SleepOf = 'host' | 'urls';

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

type Parked =
  | { readonly kind: 'new' }
  | { readonly kind: 'back' }
  | { readonly kind: 'slow'; readonly untilMs: number }
  | { readonly kind: 'sleeping'; readonly untilMs: number; readonly of: SleepOf }
  | { readonly kind: 'blocked' };

export interface Ready {
  readonly host: Host;
  readonly line: Line;
}

const NEW: Parked = { kind: 'new' };
const BACK: Parked = { kind: 'back' };
const BLOCKED: Parked = { kind: 'blocked' };

/** What a change that may concern every host has still to do. */
interface Walk {
  readonly hosts: Iterator<Host>;
  /** Hosts that are parked later need no look, or a look more does no harm. */
  left: number;
  readonly owns: ((host: Host) => boolean) | null;
  readonly unblocks: boolean;
  readonly rouses: ((host: Host) => boolean) | null;
}

export class ParkedHosts {
  readonly #parked = new Map<Host, Parked>();
  /** New hosts in memory by their numbers; some entries are stale. */
  #new = new MinHeap<Host>();
  /** How many hosts are parked as new. */
  #newCount = 0;
  /** Ready hosts that were visited before. */
  readonly #back = new Set<Host>();
  /** Hosts known as slow by until when; some entries are stale. */
  readonly #slow = new MinHeap<Host>();
  #slowCount = 0;
  readonly #sleeping = new MinHeap<Host>();
  readonly #blocked = new Set<Host>();
  readonly #known: KnownHosts;
  readonly #isVisited: (host: Host) => boolean;
  readonly #slowUntil: (host: Host) => number;
  #now = 0;
  /** Infinity: every ready host is in memory. */
  #restFrom = Infinity;
  #turn: 'new' | 'back' = 'back';
  /** One for all changes: a later one begins it anew. Hundreds of thousands may be asleep or blocked. */
  #walk: Walk | null = null;

  /**
   * @param isVisited - a visit is at the host, so it is not parked though it has a queue
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
    return this.#parked.size === 0 && this.#restFrom === Infinity;
  }

  /** How many hosts are in memory. */
  get size(): number {
    return this.#parked.size;
  }

  /** Forgets the hosts that are another agent's now, the first of them at once. */
  keepOnly(owns: (host: Host) => boolean): void {
    this.#walkAnew({ owns });
  }

  #walkAnew(change: Partial<Pick<Walk, 'owns' | 'unblocks' | 'rouses'>>): void {
    const { owns = null, unblocks = false, rouses = null } = this.#walk ?? {};
    // To rouse one that is not named costs a look.
    const both = rouses && change.rouses ? () => true : (change.rouses ?? rouses);
    this.#walk = {
      hosts: this.#parked.keys(),
      left: this.#parked.size,
      owns: change.owns ?? owns,
      unblocks: change.unblocks ?? unblocks,
      rouses: both,
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

  #look({ owns, unblocks, rouses }: Walk, host: Host): void {
    if (owns && !owns(host)) return this.#remove(host);
    if (unblocks) this.unblock(host);
    if (rouses?.(host)) this.rouse(host);
  }

  has(host: Host): boolean {
    return this.#parked.has(host);
  }

  /** The host has a fresh URL: it need not sleep until its other URLs may be tried again. */
  schedule(host: Host): void {
    const parked = this.#parked.get(host);
    if (parked === undefined) this.#addNew(host, this.#known.numberOf(host));
    else if (parked.kind === 'sleeping' && parked.of === 'urls') this.comeBack(host);
  }

  #addNew(host: Host, number: number): void {
    if (number >= this.#restFrom) return;
    this.#parked.set(host, NEW);
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
      if (this.#parked.get(host)?.kind !== 'new') continue;
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
      this.#parked.set(host, BACK);
      this.#back.add(host);
    } else this.#addNew(host, this.#known.numberOf(host));
  }

  #isSlow(host: Host): boolean {
    return this.#slowUntil(host) > this.#now && this.#slowCount < READY_MAX;
  }

  #addSlow(host: Host): void {
    const untilMs = this.#slowUntil(host);
    this.#parked.set(host, { kind: 'slow', untilMs });
    this.#slowCount++;
    this.#slow.push(untilMs, host);
  }

  #remove(host: Host): void {
    const kind = this.#parked.get(host)?.kind;
    if (kind === 'new') this.#newCount--;
    if (kind === 'slow') this.#slowCount--;
    this.#parked.delete(host);
    this.#back.delete(host);
    this.#blocked.delete(host);
  }

  sleep(host: Host, untilMs: number, of: SleepOf): void {
    this.#remove(host);
    this.#parked.set(host, { kind: 'sleeping', untilMs, of });
    this.#sleeping.push(untilMs, host);
  }

  block(host: Host): void {
    this.#remove(host);
    this.#parked.set(host, BLOCKED);
    this.#blocked.add(host);
  }

  unblock(host: Host): void {
    if (this.#blocked.has(host)) this.comeBack(host);
  }

  /** Whatever it waits for, it is looked at again. */
  rouse(host: Host): void {
    const kind = this.#parked.get(host)?.kind;
    if (kind === 'sleeping' || kind === 'blocked') this.comeBack(host);
  }

  /** As `rouse` those that are named, the first of them at once. */
  rouseAll(named: (host: Host) => boolean): void {
    this.#walkAnew({ rouses: named });
  }

  /** As `unblock` all, the first of them at once. */
  unblockAll(): void {
    if (this.#blocked.size > 0) this.#walkAnew({ unblocks: true });
  }

  /**
   * Makes those ready whose sleep is over, some at a time; who is not known as slow any more leaves
   * that line.
   */
  wakeUntil(now: number): void {
    this.#now = now;
    let left = LOOKS_MAX;
    for (const heap of [this.#sleeping, this.#slow]) {
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
    const parked = host === undefined ? undefined : this.#parked.get(host);
    const kind = heap === this.#slow ? 'slow' : 'sleeping';
    return parked?.kind === kind && parked.untilMs === untilMs ? host : undefined;
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
      if (this.#parked.get(host)?.kind !== 'new') continue;
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
      const isElsewhere = this.#parked.has(host) || this.#isVisited(host);
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
    return Math.min(this.#sleeping.firstKey, this.#slow.firstKey);
  }
}
