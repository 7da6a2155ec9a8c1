// Hosts that have queued URLs and no thread: ready ones in the order of their discovery, sleeping
// ones by the time their wait ends, blocked ones until an event frees them. Filled when a host
// gets its first URL or its visit is broken off; emptied by visits that start. One small entry a
// host: the number of hosts bounds it, not that of URLs.

import type { Host } from '../core/messages.ts';
import { MinHeap } from './min-heap.ts';

/** Whose wait a host sleeps out: its own, or that of every URL in its queue. */
export type SleepOf = 'host' | 'urls';

type Parked =
  | { readonly kind: 'ready' }
  | { readonly kind: 'sleeping'; readonly untilMs: number; readonly of: SleepOf }
  | { readonly kind: 'blocked' };

const READY: Parked = { kind: 'ready' };
const BLOCKED: Parked = { kind: 'blocked' };

export class ParkedHosts {
  readonly #parked = new Map<Host, Parked>();
  readonly #ready = new MinHeap<Host>();
  readonly #sleeping = new MinHeap<Host>();
  readonly #blocked = new Set<Host>();
  readonly #numberOf: (host: Host) => number;

  constructor(numberOf: (host: Host) => number) {
    this.#numberOf = numberOf;
  }

  isEmpty(): boolean {
    return this.#parked.size === 0;
  }

  /** Forgets the hosts that are another agent's now. */
  keepOnly(owns: (host: Host) => boolean): void {
    for (const host of [...this.#parked.keys()]) {
      if (owns(host)) continue;
      this.#parked.delete(host);
      this.#blocked.delete(host);
    }
  }

  has(host: Host): boolean {
    return this.#parked.has(host);
  }

  /** The host has a fresh URL: it need not sleep until its other URLs may be tried again. */
  queued(host: Host): void {
    const parked = this.#parked.get(host);
    const idle = parked === undefined || (parked.kind === 'sleeping' && parked.of === 'urls');
    if (idle) this.#makeReady(host);
  }

  #makeReady(host: Host): void {
    this.#blocked.delete(host);
    this.#parked.set(host, READY);
    this.#ready.push(this.#numberOf(host), host);
  }

  sleep(host: Host, untilMs: number, of: SleepOf): void {
    this.#parked.set(host, { kind: 'sleeping', untilMs, of });
    this.#sleeping.push(untilMs, host);
  }

  block(host: Host): void {
    this.#parked.set(host, BLOCKED);
    this.#blocked.add(host);
  }

  unblock(host: Host): void {
    if (this.#blocked.has(host)) this.#makeReady(host);
  }

  /** Whatever it waits for, it is looked at again. */
  rouse(host: Host): void {
    if (this.#parked.has(host)) this.#makeReady(host);
  }

  rouseAll(): void {
    for (const host of [...this.#parked.keys()]) this.#makeReady(host);
  }

  unblockAll(): void {
    for (const host of [...this.#blocked]) this.#makeReady(host);
  }

  /** Makes those ready whose sleep is over. */
  wakeUntil(now: number): void {
    while (this.#sleeping.firstKey <= now) {
      const untilMs = this.#sleeping.firstKey;
      const host = this.#sleeping.pop();
      if (host === undefined) return;
      const parked = this.#parked.get(host);
      if (parked?.kind === 'sleeping' && parked.untilMs === untilMs) this.#makeReady(host);
    }
  }

  /** The ready host discovered first, taken out; undefined when none is ready. */
  takeReady(): Host | undefined {
    for (let host = this.#ready.pop(); host !== undefined; host = this.#ready.pop()) {
      if (this.#parked.get(host)?.kind !== 'ready') continue;
      this.#parked.delete(host);
      return host;
    }
    return undefined;
  }

  hasReady(): boolean {
    return this.#ready.size > 0;
  }

  nextWakeMs(): number {
    return this.#sleeping.firstKey;
  }
}
