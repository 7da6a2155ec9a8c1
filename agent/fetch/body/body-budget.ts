/**
 * Limits the memory that the bodies of one agent take. The first 256 KiB of a body are free, since
 * most pages are smaller. Beyond them a body reserves memory in steps, so a slow body holds no more
 * than it has received. While a body waits for a step, it is not read. A reservation lasts until
 * the body is parsed and archived, because bodies that wait for a parse thread take memory too.
 *
 * Small bodies of fast servers are served first, and a part of the memory is reserved for them. If
 * a body that is not slow has to wait, slow bodies are ended, the largest first.
 *
 * Bodies that hold memory and wait for more could block each other for ever. So if all of them
 * wait, the oldest continues beyond the limit: the total is at most the limit and one body.
 */

import { monotonicMs } from '../../runtime/clock.ts';

/** Bytes of each body that need no reservation. Every open request may hold so many. */
export const BODY_BYTES_FREE = 256 * 1024;

/** Bytes reserved per step. */
export const BODY_STEP_BYTES = 256 * 1024;

/** Time in ms. A body that takes longer over a step is slow, that is, below 512 KiB/s. */
const STEP_MS = 500;

/** Interval in ms at which slow bodies are looked for while any body waits. */
const TICK_MS = 250;
/** Milliseconds. A tick that is later than this shows that the agent is slow, not the servers. */
const LATE_MS_MAX = 100;

/** Limit in bytes of a small body. Nearly all bodies above the free size are below it. */
const SMALL_BODY_BYTES = 3 * 1024 * 1024;

/** Share of the memory that may be in use before a body has to wait. */
const SHARES = {
  /** It is known to stay small. */
  small: 1,
  /** It may become large, but is still small. */
  young: 7 / 8,
  largeOrSlow: 3 / 4,
};

/** Larger bodies (sitemaps, and pages under a high `limits.bodyBytes`) have their own queue. */
const LARGE_BODY_BYTES = 16 * 1024 * 1024;

/**
 * Chosen to keep an agent below 800 MiB, of which 200 are used without any body. For a moment a
 * body exists several times: the received bytes (for the archive) and the decoded ones count here;
 * the joined, parsed, record and compressed forms do not.
 */
const BUDGET: BodyBudgetOptions = {
  ordinaryBytesMax: 80 * 1024 * 1024,
  // Exceeded by one sitemap of the largest size if all wait.
  largeBytesMax: 48 * 1024 * 1024,
};

interface BodyBudgetOptions {
  /** Total for bodies of up to 16 MiB. */
  readonly ordinaryBytesMax: number;
  /** Total for larger bodies. */
  readonly largeBytesMax: number;
}

/** The owner of a body. It is notified when its body may continue or must end. */
export interface BodyHolder {
  /** The largest size that the body may reach. */
  readonly bytesMax: number;
  /** Start of the body, in monotonic milliseconds. */
  readonly startedAt: number;
  /** The body no longer has to wait. */
  onGranted(): void;
  /** The body must end: it is slow and others wait. */
  onTooSlow(): void;
}

/** The account of one body. */
export interface BodyAccount {
  /**
   * Reserves memory.
   *
   * @param bytes total for this body, not the increment
   * @returns false if the body has to wait; `onGranted` is called at the end of the wait
   */
  reserve(bytes: number, holder: BodyHolder): boolean;
  /** Nothing more is read. The memory stays reserved. */
  ended(): void;
  /** Releases the memory. May be called twice. */
  close(): void;
}

export class BodyBudget {
  readonly #ordinary: Line;
  readonly #large: Line;

  /** @param now - monotonic milliseconds */
  constructor(
    { ordinaryBytesMax, largeBytesMax }: BodyBudgetOptions = BUDGET,
    now: () => number = monotonicMs,
  ) {
    this.#ordinary = new Line(ordinaryBytesMax, now);
    this.#large = new Line(largeBytesMax, now);
  }

  /** Bytes reserved by open bodies. */
  get reserved(): number {
    return this.#ordinary.reserved + this.#large.reserved;
  }

  /** Number of bodies that wait. */
  get waiting(): number {
    return this.#ordinary.waiting + this.#large.waiting;
  }

  /** Opens the account of one body. The caller closes it. */
  open(): BodyAccount {
    let held: Held | null = null;
    let line: Line | null = null;
    return {
      reserve: (bytes, holder) => {
        line ??= holder.bytesMax > LARGE_BODY_BYTES ? this.#large : this.#ordinary;
        if (held === null) {
          const begun = { state: 'read' as const, since: holder.startedAt };
          held = { holder, bytes: 0, wanted: 0, ...begun, hasWaited: false, isSlow: false };
        }
        return line.reserve(held, bytes);
      },
      ended: () => held && line?.ended(held),
      close: () => held && line?.leave(held),
    };
  }
}

interface Held {
  readonly holder: BodyHolder;
  bytes: number;
  wanted: number;
  state: 'read' | 'waiting' | 'ended';
  /** Time when its last step was granted, or when the body began. */
  since: number;
  /**
   * The body waited before this step. Its server had time to send ahead, so the time for this step
   * says nothing about its speed.
   */
  hasWaited: boolean;
  /** Speed in the last step that could be measured. */
  isSlow: boolean;
}

class Line {
  readonly #bytesMax: number;
  readonly #now: () => number;
  /** Oldest first. Filled by `reserve`, emptied by `leave`; limit: the open requests. */
  readonly #all = new Set<Held>();
  #timer: NodeJS.Timeout | null = null;
  reserved = 0;
  waiting = 0;

  constructor(bytesMax: number, now: () => number) {
    this.#bytesMax = bytesMax;
    this.#now = now;
  }

  reserve(held: Held, bytes: number): boolean {
    if (!held.hasWaited) held.isSlow = this.#isSlow(held);
    this.#all.add(held);
    held.wanted = bytes;
    this.#turn(held, 'waiting');
    const others = this.#grant().filter((granted) => granted !== held);
    held.hasWaited = held.state === 'waiting';
    for (const { holder } of others) holder.onGranted();
    return !held.hasWaited;
  }

  ended(held: Held): void {
    this.#turn(held, 'ended');
    // All totals are updated before any holder acts on them.
    for (const { holder } of this.#grant()) holder.onGranted();
  }

  leave(held: Held): void {
    if (this.#all.delete(held)) this.reserved -= held.bytes;
    this.ended(held);
  }

  #turn(held: Held, state: Held['state']): void {
    if (held.state === 'waiting') this.waiting--;
    if (state === 'waiting') this.waiting++;
    held.state = state;
  }

  #grant(): Held[] {
    const granted: Held[] = [];
    for (const held of this.#inLine()) {
      // Bodies behind it wait too, even if they want less.
      if (this.#missing(held, held.wanted) > 0) break;
      granted.push(this.#give(held));
    }
    // All wait, so no other body would release memory.
    if (this.waiting > 0 && this.waiting === this.#all.size) {
      const [oldest] = this.#all;
      granted.push(this.#give(oldest!));
    }
    if (this.waiting > 0) this.#timer ??= this.#nextTick();
    else {
      clearTimeout(this.#timer ?? undefined);
      this.#timer = null;
    }
    return granted;
  }

  #give(held: Held): Held {
    this.reserved += held.wanted - held.bytes;
    held.bytes = held.wanted;
    held.since = this.#now();
    this.#turn(held, 'read');
    return held;
  }

  /** The waiting bodies in the order of service; within a share, the oldest first. */
  #inLine(): Held[] {
    if (this.waiting === 0) return [];
    const waiting = [...this.#all].filter(({ state }) => state === 'waiting');
    return waiting.toSorted((a, b) => shareOf(b, b.wanted) - shareOf(a, a.wanted));
  }

  /** A body that is being parsed or archived no longer depends on its server, so it is not slow. */
  #isSlow({ state, since, isSlow }: Held): boolean {
    return state === 'read' ? this.#now() - since > STEP_MS : state === 'waiting' && isSlow;
  }

  /** Bytes that must be released before the body may hold `bytes`. */
  #missing(held: Held, bytes: number): number {
    return this.reserved + bytes - held.bytes - this.#bytesMax * shareOf(held, bytes);
  }

  #nextTick(): NodeJS.Timeout {
    const dueAt = this.#now() + TICK_MS;
    return setTimeout(() => this.#tick(dueAt), TICK_MS);
  }

  #tick(dueAt: number): void {
    this.#timer = this.#nextTick();
    if (this.#now() > dueAt + LATE_MS_MAX) return;
    const [first] = this.#inLine();
    if (first && !first.isSlow) this.#makeRoom(first);
  }

  /**
   * Makes room for all small bodies that wait, so that they do not wait again at their next steps.
   */
  #makeRoom(first: Held): void {
    let missing = this.#missing(first, first.bytes);
    for (const { state, isSlow, holder, bytes, wanted } of this.#all) {
      if (state !== 'waiting' || isSlow) continue;
      missing += Math.max(wanted, Math.min(holder.bytesMax, SMALL_BODY_BYTES)) - bytes;
    }
    const slow = [...this.#all].filter((held) => this.#isSlow(held));
    for (const held of slow.toSorted((a, b) => b.bytes - a.bytes)) {
      if (missing <= 0) break;
      missing -= held.bytes;
      held.holder.onTooSlow();
    }
  }
}

function shareOf({ isSlow, holder }: Held, bytes: number): number {
  if (isSlow || bytes > SMALL_BODY_BYTES) return SHARES.largeOrSlow;
  return holder.bytesMax > SMALL_BODY_BYTES ? SHARES.young : SHARES.small;
}
