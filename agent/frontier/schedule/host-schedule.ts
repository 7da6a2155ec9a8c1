// The schedule of hosts that have queued URLs and no visit. Each host has one reason to wait. A
// ready host waits for a visit in one of three lines: new hosts by their discovery, hosts that were
// visited before by the time they became ready, and slow hosts by the end of their slow period. The
// first two lines take turns. All other hosts wait for a time or an event.
//
// Pages may name millions of hosts, so only the first new hosts are in memory. The others are read
// from the store later: every ready host that is not in memory has a number of at least
// `#restFrom`. Hosts that wait for a time or an event stay in memory. Each of them was visited, so
// their number is limited by the crawl speed and not by the links of pages.

import type { Host } from '../../core/protocol/messages.ts';
import type { AwaitedEvent, TimedWait, Wait } from '../../core/protocol/visits-port.ts';
import type { QueuedHost } from '../frontier-store.ts';
import { MinHeap } from './min-heap.ts';
import type { Line } from './places.ts';

/** Maximum of hosts in memory for each line. Beyond it, half of the new hosts are dropped. */
export const READY_MAX = 2000;
/** Hosts read from the store at once: about a millisecond of work. */
export const READ_MAX = 500;
/** Hosts examined or woken in one turn: some milliseconds of work. */
export const LOOKS_MAX = 500;

interface KnownHosts {
  numberOf(host: Host): number;
  /** The first `max` hosts with queued URLs whose number is at least `number`, ascending. */
  queuedFrom(number: number, max: number): readonly QueuedHost[];
}

export interface Ready {
  readonly host: Host;
  readonly line: Line;
}

const NEW: Wait = { kind: 'new' };
const BACK: Wait = { kind: 'back' };

/** A change that affects all waiting hosts, applied to some hosts each turn. */
interface Walk {
  readonly hosts: Iterator<Host>;
  /** Hosts still to examine. Hosts that are added later need not be, and may be. */
  left: number;
  readonly owns: ((host: Host) => boolean) | null;
  readonly wakes: boolean;
  readonly rechecks: ((host: Host) => boolean) | null;
}

export class HostSchedule {
  readonly #waiting = new Map<Host, Wait>();
  /** New hosts in memory, by number. Outdated entries are skipped. */
  #new = new MinHeap<Host>();
  /** Number of hosts that wait as new hosts. */
  #newCount = 0;
  /** Ready hosts that were visited before, oldest first. Bound: `READY_MAX`. */
  readonly #back = new Set<Host>();
  /** Slow hosts by the end of their slow period. Outdated entries are skipped. */
  readonly #slow = new MinHeap<Host>();
  #slowCount = 0;
  readonly #byTime = new MinHeap<Host>();
  readonly #forEvents = new Set<Host>();
  /** Number of hosts that wait for other networks. */
  #forNetworks = 0;
  readonly #known: KnownHosts;
  readonly #isVisited: (host: Host) => boolean;
  readonly #slowUntil: (host: Host) => number;
  #now = 0;
  /** First host number that may have to be read from the store; Infinity: none. */
  #restFrom = Infinity;
  #turn: 'new' | 'back' = 'back';
  /** One walk for all pending changes, since there may be many hosts. A new change restarts it. */
  #walk: Walk | null = null;

  /**
   * @param isVisited - whether a visit is at the host; it is then not scheduled
   * @param slowUntil - end of the host's slow period; 0: the host is not slow
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

  /** All hosts with queued URLs wait for other networks. */
  get waitsForNetworks(): boolean {
    return this.#waiting.size === this.#forNetworks && this.#restFrom === Infinity;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Removes the hosts that this agent does not own: some at once, the others in later turns. */
  keepOnly(owns: (host: Host) => boolean): void {
    this.#walkAnew({ owns });
  }

  #walkAnew(change: Partial<Pick<Walk, 'owns' | 'wakes' | 'rechecks'>>): void {
    const { owns = null, wakes = false, rechecks = null } = this.#walk ?? {};
    // A superfluous recheck costs only one examination.
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

  /** Continues the pending walk for up to `LOOKS_MAX` hosts. */
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

  /** Hosts that wait for a place or for their delay, among the first in memory. */
  waiting(): Host[] {
    const hosts: Host[] = [];
    for (const [host, wait] of this.#waiting.entries().take(LOOKS_MAX)) {
      const isDelayed = wait.kind === 'time' && wait.why === 'delay';
      if (isDelayed || wait.kind === 'new' || wait.kind === 'back') hosts.push(host);
    }
    return hosts;
  }

  /** Undefined: the host does not wait, or is not in memory. */
  waitOf(host: Host): Wait | undefined {
    return this.#waiting.get(host);
  }

  /** The host has a fresh URL, so it does not wait for the retries of its other URLs. */
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

  /** Drops the later half of the new hosts from memory; the store has them. */
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

  /** Makes a host ready that was visited before. */
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
    const wait = this.#waiting.get(host);
    if (wait?.kind === 'new') this.#newCount--;
    if (wait?.kind === 'slow') this.#slowCount--;
    if (wait?.kind === 'event' && wait.why === 'network') this.#forNetworks--;
    this.#waiting.delete(host);
    this.#back.delete(host);
    this.#forEvents.delete(host);
  }

  sleep(host: Host, untilMs: number, why: TimedWait): void {
    this.#remove(host);
    this.#waiting.set(host, { kind: 'time', untilMs, why });
    this.#byTime.push(untilMs, host);
  }

  /** The host waits until `wake`. */
  waitFor(host: Host, why: AwaitedEvent): void {
    this.#remove(host);
    this.#waiting.set(host, { kind: 'event', why });
    this.#forEvents.add(host);
    if (why === 'network') this.#forNetworks++;
  }

  /** Makes the host ready if it waits for an event. */
  wake(host: Host): void {
    if (this.#forEvents.has(host)) this.comeBack(host);
  }

  /** Makes the host ready if it waits for a time or an event. */
  recheck(host: Host): void {
    const kind = this.#waiting.get(host)?.kind;
    if (kind === 'time' || kind === 'event') this.comeBack(host);
  }

  /** Like `recheck` for all hosts that `named` selects: some at once, the others in later turns. */
  recheckAll(named: (host: Host) => boolean): void {
    this.#walkAnew({ rechecks: named });
  }

  /** Like `wake` for all hosts: some at once, the others in later turns. */
  wakeAll(): void {
    if (this.#forEvents.size > 0) this.#walkAnew({ wakes: true });
  }

  /** Makes up to `LOOKS_MAX` hosts ready whose timed wait or slow period is over. */
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

  /** Removes the first entry. Undefined: the entry was outdated. */
  #popCurrent(heap: MinHeap<Host>): Host | undefined {
    const untilMs = heap.firstKey;
    const host = heap.pop();
    const wait = host === undefined ? undefined : this.#waiting.get(host);
    const kind = heap === this.#slow ? 'slow' : 'time';
    return wait?.kind === kind && wait.untilMs === untilMs ? host : undefined;
  }

  /**
   * Removes and returns the next ready host of the lines that `mayEnter` allows. Undefined: none is
   * ready, or the hosts just read from the store were not; `hasReady` distinguishes these cases.
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
      // A slow host that was dropped from memory returns as a new one.
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

  /** Whether the line has a ready host, or may have one in the store. */
  hasReady(line: Line): boolean {
    if (line === 'slow') return this.#slowCount > 0;
    if (line === 'back') return this.#back.size > 0;
    return this.#newCount > 0 || this.#restFrom < Infinity;
  }

  /** Time of the next work for `wakeUntil`; 0: `goOn` has work now. */
  nextWakeMs(): number {
    if (this.#walk !== null) return 0;
    return Math.min(this.#byTime.firstKey, this.#slow.firstKey);
  }
}
