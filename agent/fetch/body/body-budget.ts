/**
 * The memory for bodies of one agent. The first quarter mebibyte of a body is free, since most pages
 * are smaller. Beyond that a body reserves step by step what it comes to hold, so that one that
 * drips holds no more than it has sent; while it waits for a step it is not read. The reservation
 * lasts until the body is parsed and archived: a queue of bodies for the parse threads is memory as
 * well. `page-pipeline.ts` opens an account for each request and closes it, whatever comes of the
 * request; `exchange.ts` draws on it.
 *
 * Small bodies of quick servers do not wait for others, however many there are: they come first, and
 * a part of the memory is for them alone. Where one that is not slow waits all the same, slow ones
 * are broken off, the largest first.
 *
 * Bodies that hold a part and wait for more could wait for one another for ever. So where all wait,
 * the oldest goes on beyond the bound: no more than the bound and one body is held.
 */

import { monotonicMs } from '../../runtime/clock.ts';

/** Of every body; so much may be held of each open request at worst. */
export const BODY_BYTES_FREE = 256 * 1024;

/** Reserved at a time. */
export const BODY_STEP_BYTES = 256 * 1024;

/** A body that takes longer over a step is slow: it comes by less than half a mebibyte a second. */
const STEP_MS = 500;

/** How often slow bodies are looked for while any waits. */
const TICK_MS = 250;
/** A tick that is later shows that it is the agent that is behind, and not the servers. */
const LATE_MS_MAX = 100;

/** Nearly all bodies that exceed what is free are smaller. */
const SMALL_BODY_BYTES = 3 * 1024 * 1024;

/** How much of the memory may be full before a body has to wait. */
const SHARES = {
  /** It is small by its own account. */
  small: 1,
  /** It has become no larger yet. */
  young: 7 / 8,
  largeOrSlow: 3 / 4,
};

/** Sitemaps, and pages under a high `limits.bodyBytes`, wait in a line of their own. */
const LARGE_BODY_BYTES = 16 * 1024 * 1024;

/**
 * A body is held several times for a moment: as received for the archive and decoded, which count
 * here, and joined, parsed, as a record and packed, which do not. So these keep an agent under
 * 800 MiB, of which it needs 200 without any body.
 */
const BUDGET: BodyBudgetOptions = {
  ordinaryBytesMax: 80 * 1024 * 1024,
  // And one sitemap of the largest size, where all wait.
  largeBytesMax: 48 * 1024 * 1024,
};

interface BodyBudgetOptions {
  /** For bodies of up to 16 MiB together. */
  readonly ordinaryBytesMax: number;
  /** For larger ones together. */
  readonly largeBytesMax: number;
}

/** Whose memory it is; told of what becomes of it. */
export interface BodyHolder {
  /** What the body may become. */
  readonly bytesMax: number;
  /** When the body began, in monotonic milliseconds. */
  readonly startedAt: number;
  /** It has not to wait any more. */
  onGranted(): void;
  /** Others wait, and it is slow: it is to end. */
  onTooSlow(): void;
}

/** The account of one body. */
export interface BodyAccount {
  /**
   * Reserves memory up to so many bytes in all.
   *
   * @returns false where it has to wait; `onGranted` is called when it has not to any more.
   */
  reserve(bytes: number, holder: BodyHolder): boolean;
  /** Nothing more is read; what it holds is kept. */
  ended(): void;
  /** Gives the memory back; may be called twice. */
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

  /** Bytes reserved by bodies that are open. */
  get reserved(): number {
    return this.#ordinary.reserved + this.#large.reserved;
  }

  /** Bodies that wait. */
  get waiting(): number {
    return this.#ordinary.waiting + this.#large.waiting;
  }

  /** Opens the account of a body; to be closed. */
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
  /** When its step was granted, or it began. */
  since: number;
  /** Before this step: its server had time to send ahead, so the step tells nothing of its speed. */
  hasWaited: boolean;
  /** By its last step that tells. */
  isSlow: boolean;
}

class Line {
  readonly #bytesMax: number;
  readonly #now: () => number;
  /** The oldest first. Filled by `reserve`, emptied by `leave`; bound: the open requests. */
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
    this.#grantAndTell();
  }

  leave(held: Held): void {
    this.#turn(held, 'ended');
    if (this.#all.delete(held)) this.reserved -= held.bytes;
    this.#grantAndTell();
  }

  #turn(held: Held, state: Held['state']): void {
    if (held.state === 'waiting') this.waiting--;
    if (state === 'waiting') this.waiting++;
    held.state = state;
  }

  #grantAndTell(): void {
    // The sums are right before anybody acts on them.
    for (const { holder } of this.#grant()) holder.onGranted();
  }

  #grant(): Held[] {
    const granted: Held[] = [];
    for (const held of this.#inLine()) {
      // Those behind it are served no sooner, even if they want less.
      if (this.#missing(held, held.wanted) > 0) break;
      granted.push(this.#give(held));
    }
    // Nobody else would give anything back.
    if (this.waiting > 0 && this.waiting === this.#all.size) {
      const [oldest] = this.#all;
      granted.push(this.#give(oldest!));
    }
    if (this.waiting > 0) this.#timer ??= this.#nextTick();
    else this.#stopTimer();
    return granted;
  }

  #give(held: Held): Held {
    this.reserved += held.wanted - held.bytes;
    held.bytes = held.wanted;
    held.since = this.#now();
    this.#turn(held, 'read');
    return held;
  }

  /** Those that wait, in the order in which they are served; the older ones first. */
  #inLine(): Held[] {
    if (this.waiting === 0) return [];
    const waiting = [...this.#all].filter(({ state }) => state === 'waiting');
    return waiting.toSorted((a, b) => shareOf(b, b.wanted) - shareOf(a, a.wanted));
  }

  /** One that is only parsed and archived is not its server's any more. */
  #isSlow({ state, since, isSlow }: Held): boolean {
    return state === 'read' ? this.#now() - since > STEP_MS : state === 'waiting' && isSlow;
  }

  /** How much has to come free before the body may hold so many bytes. */
  #missing(held: Held, bytes: number): number {
    return this.reserved + bytes - held.bytes - this.#bytesMax * shareOf(held, bytes);
  }

  #nextTick(): NodeJS.Timeout {
    const dueAt = this.#now() + TICK_MS;
    return setTimeout(() => this.#tick(dueAt), TICK_MS);
  }

  #stopTimer(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #tick(dueAt: number): void {
    this.#timer = this.#nextTick();
    if (this.#now() > dueAt + LATE_MS_MAX) return;
    const [first] = this.#inLine();
    if (first && !first.isSlow) this.#makeRoom(first);
  }

  /** For all of the small bodies that wait, so that they do not wait again at their next steps. */
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
