// Sends the questions and answers of a centre to one other network, and reads its pools. Each network
// has its own loop, so a slow server delays no other. Lost messages are not repeated one by one: a
// question is repeated until it is decided, and a repeated question gets an answer.

import type { Instant } from '../../failure-detector/instant.ts';
import { Loop } from './loop.ts';
import type { NetworkParts } from './network-settings.ts';
import type { OpenFrame, OpenFrames } from './open-frames.ts';
import type { Digest, Frame, Mark, Pools } from './pools.ts';

interface PeerParts extends NetworkParts {
  /** The other network. */
  readonly other: string;
  readonly frames: OpenFrames;
  /** Questions are asked and answered now. */
  readonly leads: () => boolean;
}

/** Answers that wait; the oldest is dropped, and asked for again. */
const ANSWERS_MAX = 64;
/** While nothing waits, the loop looks this often for frames. */
const IDLE_MS = 200;

export class Peer {
  readonly #p: PeerParts;
  readonly #pools: Pools;
  readonly #loop: Loop;
  /** Filled by `answer`, emptied by the loop; at most ANSWERS_MAX. */
  readonly #answers: Frame[] = [];
  /** When each frame was last asked about, and read directly (mono). */
  readonly #asked = new Map<string, number>();
  readonly #read = new Map<string, number>();
  /** Since when the network is seen without centre (mono); null: it has one. */
  #absentSinceMs: number | null = null;
  #checkedAtMs = -Infinity;
  #hasBegun = false;
  #asks = 0;
  #reads = 0;

  constructor(parts: PeerParts) {
    this.#p = parts;
    this.#pools = parts.pools.get(parts.other)!;
    const { wake, onError } = parts;
    this.#loop = new Loop({ run: (now) => this.#step(now), wake, onError });
  }

  answer(frame: Frame): void {
    if (this.#answers.length >= ANSWERS_MAX) this.#answers.shift();
    this.#answers.push(frame);
    this.#loop.kick();
  }

  kick(): void {
    this.#loop.kick();
  }

  pump(now: Instant): void {
    if (this.#p.leads()) this.#loop.pump(now);
    else this.#answers.length = 0;
  }

  nextAtMs(): number {
    const hasWork = this.#answers.length + this.#p.frames.size > 0;
    return this.#p.leads() && hasWork ? this.#loop.nextAtMs() : Infinity;
  }

  /** The network has said what it knows. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  answered(): void {
    this.#hasBegun = true;
  }

  /** For how long the network has been seen without centre. */
  absentMs(now: Instant): number {
    return this.#absentSinceMs === null ? 0 : now.mono - this.#absentSinceMs;
  }

  counts() {
    return { asks: this.#asks, reads: this.#reads, errors: this.#loop.errors };
  }

  /**
   * The verdict on the frame does not await this network any longer. If it has no centre, the claims
   * that its answer would have named lapse: when it returns, it looks for them.
   */
  async giveUp(open: OpenFrame, now: Instant): Promise<void> {
    const digests = this.#p.frames.undecided(open, this.#p.other);
    if (digests.length === 0 || this.#loop.troubleMs(now) >= this.#p.settings.timeoutMs / 3) return;
    try {
      await this.#pools.lapse(digests);
    } catch (error) {
      // Its Redis is away, too: the verdict does not wait for it.
      this.#p.onError(error);
    }
  }

  async #step(now: Instant): Promise<number> {
    for (const number of this.#asked.keys()) {
      if (this.#p.frames.has(number)) continue;
      this.#asked.delete(number);
      this.#read.delete(number);
    }
    const frames = [...this.#p.frames.all()];
    const due = frames.filter((open) => this.#isDue(open, now));
    const answers = this.#answers.splice(0);
    const isSending = due.length + answers.length > 0;
    // In one round trip.
    await Promise.all([
      ...answers.map((answer) => this.#pools.ask(answer)),
      ...(frames.length > 0 ? [this.#checkCentre(now, isSending)] : []),
      ...due.map((open) => this.#askAbout(open, now)),
    ]);
    for (const open of frames) {
      if (!this.#p.leads()) break;
      await this.#readAbout(open, now);
    }
    return Math.min(IDLE_MS, this.#p.settings.timeoutMs / 6);
  }

  /** The network is to be asked about the frame. */
  #isDue(open: OpenFrame, now: Instant): boolean {
    const askedMs = this.#asked.get(open.frame.number) ?? -Infinity;
    if (this.#absentSinceMs !== null || now.mono - askedMs < this.#p.settings.timeoutMs / 3) {
      return false;
    }
    return this.#p.frames.undecided(open, this.#p.other).length > 0;
  }

  async #askAbout(open: OpenFrame, now: Instant): Promise<void> {
    const { network, seeds } = this.#p.settings;
    const digests = this.#p.frames.undecided(open, this.#p.other);
    const { marks: _, ...frame } = open.frame;
    const from = { relay: network, sender: this.#p.token, seeds };
    const { identities } = frame;
    const named = identities && {
      identities: digests.map((digest) => identities[frame.digests.indexOf(digest)]!),
    };
    await this.#pools.ask({ ...frame, flag: 2, ...from, digests, ...named });
    this.#asked.set(frame.number, now.mono);
    this.#asks++;
  }

  async #readAbout(open: OpenFrame, now: Instant): Promise<void> {
    const pauseMs = this.#p.settings.timeoutMs / 3;
    const { number } = open.frame;
    const digests = this.#p.frames.undecided(open, this.#p.other);
    const isLate = this.#absentSinceMs !== null || now.mono - open.claimedAt.mono >= 2 * pauseMs;
    const readMs = this.#read.get(number) ?? -Infinity;
    if (digests.length === 0 || !isLate || now.mono - readMs < pauseMs) return;
    this.#asked.set(number, this.#asked.get(number) ?? -Infinity);
    await this.#readMarks(open, digests, now);
    this.#read.set(number, now.mono);
  }

  /** Reads the pools of the network itself, if it does not answer. */
  async #readMarks(open: OpenFrame, digests: readonly Digest[], now: Instant): Promise<void> {
    const marks = await this.#pools.marksOf(digests);
    this.#reads++;
    if (marks !== null) this.#hasBegun = true;
    const since = this.#absentSinceMs;
    const isDead = since !== null && now.mono - since >= this.#p.settings.leaseMs;
    // Pools that were lost do not name the claims.
    const lapsed = digests.filter((_, i) => marks === null || marks[i] === 'q');
    if (isDead && !(await this.#pools.lapse(lapsed))) {
      this.#absentSinceMs = null;
      return;
    }
    // A network without centre and pools has not begun, or is gone.
    if (marks === null && !isDead) return;
    for (const [i, digest] of digests.entries()) {
      const mark = (marks?.[i] ?? '0') as Mark;
      const isLapsed = isDead && mark === 'q';
      // The network may run, and only be cut off from its Redis.
      if (marks === null || isLapsed) open.isUnanswerable = true;
      this.#p.frames.decide(digest, this.#p.other, isLapsed ? '0' : mark);
    }
  }

  /** `isSending`: the check shares a round trip, so it may be early. */
  async #checkCentre(now: Instant, isSending: boolean): Promise<void> {
    const pauseMs = Math.min(this.#p.settings.timeoutMs, this.#p.settings.leaseMs / 6);
    if (now.mono - this.#checkedAtMs < (isSending ? pauseMs / 2 : pauseMs)) return;
    const { hasCentre } = await this.#pools.presence();
    this.#checkedAtMs = now.mono;
    this.#absentSinceMs = hasCentre ? null : (this.#absentSinceMs ?? now.mono);
  }
}
