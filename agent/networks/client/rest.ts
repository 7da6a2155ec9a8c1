// Ends the networks of a crawl together. Each network has a mark in its Redis: it is at rest, or it
// works. A mark is never set to a value that it had before, so a command that is late changes nothing.
// An agent that knows that its cluster has completed reads all marks, and again when it has them. If
// all networks are at rest with the same marks, there was a moment at which all of them were.

import type { Instant } from '../../../failure-detector/instant.ts';
import { Loop } from '../loop.ts';
import type { NetworkParts } from '../network-settings.ts';
import type { Pools, Presence } from '../pools.ts';

interface RestParts extends NetworkParts {
  /** This agent has nothing to do, to send or to wait for. */
  readonly isDone: () => boolean;
  /** Ends the idle period of this agent: its cluster must complete anew. */
  readonly activity: () => void;
}

/** While the cluster is complete, the marks are read this often, and less often if nothing changes. */
const POLL_MIN_MS = 500;
const POLL_MAX_MS = 1000;
/** Otherwise the own mark is read so often in `leaseMs`. */
const CHECKS_PER_LEASE = 6;

export class Rest {
  readonly #p: RestParts;
  readonly #own: Pools;
  readonly #loop: Loop;
  #now: Instant = { mono: 0, wall: 0 };
  /** `mayEnd` was called since the last pump: the cluster is complete. */
  #isAsked = false;
  #isComplete = false;
  /** The last mark of this network that was not rest. Null: none was read. */
  #known: string | null = null;
  /** `known` has changed: what the cluster has completed may be from before. */
  #isOutdated = false;
  #isResting = false;
  /** As last read. */
  #mark = '';
  /** Of each network, why it holds nobody up: its mark, or that it is not there. */
  #last: ReadonlyMap<string, string> | null = null;
  #isOver = false;
  /** Since when a network has no centre, or does not answer (mono). */
  readonly #missing = new Map<
    string,
    { readonly why: 'gone' | 'mute'; readonly sinceMs: number }
  >();
  /**
   * The own Redis has not answered for `leaseMs`. Before that the cluster may have got work that this
   * agent does not know, so it must complete anew.
   */
  #isConfirming = false;
  #awaited: readonly string[] = [];
  #marks = 0;
  #pollMs = POLL_MIN_MS;

  constructor(parts: RestParts) {
    this.#p = parts;
    this.#own = parts.pools.get(parts.settings.network)!;
    const { wake, onError } = parts;
    this.#loop = new Loop({ run: () => this.#step(), wake, onError });
  }

  /** The cluster is complete. Whether no network can give it work any more. */
  mayEnd(): boolean {
    this.#isAsked = true;
    return this.#isOver;
  }

  get mark(): string {
    return this.#mark;
  }

  /** The networks that still work, or must answer, before this one may end. */
  get awaited(): readonly string[] {
    return this.#awaited;
  }

  pump(now: Instant): void {
    this.#now = now;
    const was = this.#isComplete;
    this.#isComplete = this.#isAsked && !this.#isOutdated;
    this.#isAsked = false;
    if (this.#isOutdated) this.#p.activity();
    this.#isOutdated = false;
    if (!this.#isComplete) this.#forget();
    // New work is told at once.
    if (this.#isComplete !== was || (this.#isResting && !this.#p.isDone())) this.#loop.kick();
    this.#loop.pump(now);
  }

  nextAtMs(): number {
    return this.#loop.nextAtMs();
  }

  #forget(): void {
    this.#last = null;
    this.#isOver = false;
    this.#awaited = [];
    this.#pollMs = POLL_MIN_MS;
    if (!this.#isConfirming) this.#missing.clear();
  }

  async #step(): Promise<number> {
    if (!this.#isComplete && !this.#isConfirming) return this.#check();
    const { networks, network, leaseMs } = this.#p.settings;
    const read = async (name: string) => [name, await this.#read(name)] as const;
    const found = new Map(await Promise.all(networks.map(read)));
    const own = found.get(network);
    if (own) this.#isConfirming = false;
    if (own && !this.#isComplete) return 0;
    this.#mark = own?.mark ?? '';
    this.#isResting = own ? isRest(own.mark) : false;
    if (own && !this.#isResting) return this.#begin(own.mark);
    this.#compare(found);
    // Everything is at rest: the second reading confirms it.
    if (this.#last && !this.#isOver) return 0;
    this.#pollMs = Math.min(POLL_MAX_MS, this.#pollMs * 1.2);
    return Math.min(this.#pollMs, leaseMs / 12);
  }

  /** Without the verdict of the cluster only the own mark counts. */
  async #check(): Promise<number> {
    const { mark } = await this.#own.presence();
    this.#mark = mark;
    this.#isResting = isRest(mark);
    if (!this.#isResting) this.#learn(mark);
    else if (!this.#p.isDone()) {
      await this.#own.mark(mark, this.#next('work'));
      this.#isResting = false;
    }
    return this.#p.settings.leaseMs / CHECKS_PER_LEASE;
  }

  /** If the mark was known before the cluster completed, it has done all that came with that mark. */
  async #begin(mark: string): Promise<number> {
    const rest = this.#next('rest');
    const isSet = !this.#learn(mark) && (await this.#own.mark(mark, rest)) === rest;
    return isSet ? 0 : POLL_MIN_MS / 2;
  }

  /** Whether the mark is another one than before. */
  #learn(mark: string): boolean {
    if (mark === this.#known) return false;
    this.#known = mark;
    this.#isOutdated = true;
    return true;
  }

  #next(kind: 'rest' | 'work'): string {
    return `${kind} ${this.#p.token}/${++this.#marks}`;
  }

  async #read(network: string): Promise<Presence | null> {
    try {
      return await this.#p.pools.get(network)!.presence();
    } catch (error) {
      this.#p.onError(error);
      return null;
    }
  }

  #compare(found: ReadonlyMap<string, Presence | null>): void {
    const why = new Map<string, string>();
    for (const [network, presence] of found) {
      const reason = this.#whyOver(network, presence);
      if (reason !== null) why.set(network, reason);
    }
    this.#awaited = [...found.keys()].filter((network) => !why.has(network));
    const last = this.#last;
    this.#last = this.#awaited.length === 0 ? why : null;
    const isSame = (network: string) => last?.get(network) === why.get(network);
    this.#isOver = this.#last !== null && [...why.keys()].every(isSame);
  }

  #whyOver(network: string, presence: Presence | null): string | null {
    if (presence && (isRest(presence.mark) || presence.hasCentre)) {
      this.#missing.delete(network);
      return isRest(presence.mark) ? presence.mark : null;
    }
    const why = presence ? 'gone' : 'mute';
    const known = this.#missing.get(network);
    const missing = known?.why === why ? known : { why, sinceMs: this.#now.mono };
    this.#missing.set(network, missing as { why: 'gone' | 'mute'; sinceMs: number });
    const { leaseMs, onTimeout } = this.#p.settings;
    const isLong = this.#now.mono - missing.sinceMs >= leaseMs;
    if (!isLong || (!presence && onTimeout === 'wait')) return null;
    if (network === this.#p.settings.network && !this.#isConfirming) {
      this.#isConfirming = true;
      this.#isOutdated = true;
      return null;
    }
    return why;
  }
}

function isRest(mark: string): boolean {
  return mark.startsWith('rest ');
}
