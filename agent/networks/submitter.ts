// Asks the centre for the verdicts on the URLs of this agent. It holds a few frames in memory; the
// store keeps the others. A frame is sent again under its number until its verdict has arrived, so
// nothing is lost with a message, and the centre recognizes repetitions.

import type { Instant } from '../../failure-detector/instant.ts';
import { digestOf } from './digests.ts';
import { Loop } from './loop.ts';
import type { NetworkParts } from './network-settings.ts';
import type { Digest, Frame, Pools, VerdictFrame } from './pools.ts';

export type Verdict =
  /** `isPartial`: a network was not asked, or did not answer. */
  | { readonly kind: 'new'; readonly isPartial: boolean }
  /** `isFinal`: that network has finished it; else it has only claimed it. */
  | { readonly kind: 'elsewhere'; readonly network: string; readonly isFinal: boolean };

export interface VerdictStore {
  /** The first URLs that wait for a verdict, at most `max`, in a fixed order. */
  more(max: number): readonly string[];
  /** URLs that other networks have claimed and not finished, after `after` in a fixed order. */
  elsewhere(after: string | null, max: number): readonly string[];
  /** False: the URL is not wanted any more, and its claim is released. */
  decide(identity: string, verdict: Verdict): boolean;
  /** This agent has no other work than to wait for other networks. */
  isIdle(): boolean;
  /** URLs of this agent that are queued, also those that other networks have or may have. */
  queued(): number;
}

interface SubmitterParts extends NetworkParts {
  readonly store: VerdictStore;
  /** The URL is not wanted any more. */
  readonly release: (identity: string) => void;
  /** A frame is sent in this turn. */
  readonly sends: () => void;
  /** URLs were decided without the centre: their claims are missing. */
  readonly claimsMissing: () => void;
}

/** A verdict whose URLs are being decided. Its frame is open meanwhile. */
interface Settling {
  readonly verdict: VerdictFrame;
  decided: number;
  /** Its URLs that are not wanted any more. They are released when the frame is not open any more. */
  readonly givenUp: string[];
}

interface Submitted {
  readonly frame: Frame;
  readonly identities: readonly string[];
  readonly madeAtMs: number;
  /** When it was last sent (mono); null: not yet. */
  sentAtMs: number | null;
  /** The URLs were claimed elsewhere: without a verdict they stay so. */
  readonly isRepeated: boolean;
}

/** Open frames. While one is open only full ones are added, so a slow round makes larger frames. */
const FRAMES_MAX = 4;
/** URLs wait for others to share a frame: the longer, the fuller a batch the agent has to visit. */
const LINGER_MIN_MS = 100;
const LINGER_MAX_MS = 4000;
/** The interval of looks for a verdict: shorter after one that finds some, else longer. */
const POLL_MIN_MS = 40;
const POLL_MAX_MS = 640;
const VERDICTS_MAX = 16;
/**
 * How often in `leaseMs` questions are repeated at first; later less often. Several frames are
 * repeated less often than one, but at least so often.
 */
const REPEATS_PER_LEASE = 64;
const REPEATS_PER_LEASE_MIN = 16;
/** URLs of a frame that doubts their claims (docs/NETWORKS.md, rule 8). */
const DOUBTS_MAX = 100;

export class Submitter {
  readonly #p: SubmitterParts;
  readonly #own: Pools;
  readonly #loop: Loop;
  /** Filled by `offer` and from the store, emptied by frames; at most FRAMES_MAX frames. */
  readonly #queue = new Map<Digest, string>();
  readonly #frames = new Map<string, Submitted>();
  /** The URLs of open frames. True: the store may have it again, with a verdict that waits. */
  readonly #held = new Map<Digest, boolean>();
  #storeHasMore = true;
  #oldestAtMs = 0;
  #lastNumber = 0;
  #cursor = '0';
  /** Verdicts that wait for the next pump. */
  readonly #arrived: VerdictFrame[] = [];
  #settling: Settling | null = null;
  #pollMs = POLL_MIN_MS;
  /** The last URL of the last question of this round; null: the next question begins a round. */
  #repeatAfter: string | null = null;
  #repeatAtMs = -Infinity;
  /** The pause before this round; 0: something has changed since. */
  #repeatPauseMs = 0;
  /** Of this round. */
  #repeatFrames = 0;
  /** The last repeated question found URLs that are now this network's. */
  #repeatFoundNew = false;
  readonly #counts = { frames: 0, verdicts: 0, partial: 0, elsewhere: 0, latencyMs: 0 };

  constructor(parts: SubmitterParts) {
    this.#p = parts;
    this.#own = parts.pools.get(parts.settings.network)!;
    const { wake, onError } = parts;
    this.#loop = new Loop({ run: (now) => this.#exchange(now), wake, onError });
  }

  /** URLs that wait for a verdict. What does not fit is read from the store later. */
  offer(identities: readonly string[], now: Instant): void {
    for (const identity of identities) {
      if (this.#queue.size >= FRAMES_MAX * this.#p.settings.batch) {
        this.#storeHasMore = true;
        return;
      }
      this.#enqueue(identity, now);
    }
  }

  pump(now: Instant): void {
    this.#settle(now);
    if (this.#p.settings.onTimeout === 'proceed') this.#proceed(now);
    this.#readStore(now);
    this.#makeFrames(now);
    if (this.#mayRepeat(now)) {
      this.#repeat(now);
      if (this.#repeatAfter !== null) this.#p.wake();
    }
    if (this.#frames.size > 0 || this.#loop.troubleMs(now) > 0) this.#loop.pump(now);
  }

  /** The URL is in an open frame. */
  isAsking(identity: string): boolean {
    return this.#held.has(digestOf(identity, this.#p.sha256));
  }

  /** Since when one of these URLs has waited for a verdict (mono); null: none waits. */
  askingSince(isMeant: (identity: string) => boolean): number | null {
    for (const { identities, madeAtMs } of this.#frames.values()) {
      if (identities.some(isMeant)) return madeAtMs;
    }
    return [...this.#queue.values()].some(isMeant) ? this.#oldestAtMs : null;
  }

  /** A verdict of the centre in this process. It comes from Redis, too, with the next look. */
  arrived(verdict: VerdictFrame): void {
    this.#arrived.push(verdict);
    this.#p.wake();
  }

  /** The store has URLs that were not offered. */
  storeChanged(): void {
    this.#storeHasMore = true;
  }

  /** Every known URL has its verdict. */
  get isQuiet(): boolean {
    return this.#queue.size + this.#frames.size === 0 && !this.#storeHasMore;
  }

  /** When `pump` next has work (mono). */
  nextAtMs(): number {
    if (this.#frames.size > 0 || this.#loop.notBeforeMs() > 0) return this.#loop.nextAtMs();
    if (this.#queue.size > 0) return this.#sendAtMs();
    return this.#p.store.isIdle() ? this.#repeatAtMs : Infinity;
  }

  /** For `status`. `latencyMs`: the sum over all verdicts of frames. */
  counts() {
    const urls = this.#queue.size + this.#held.size;
    return { ...this.#counts, errors: this.#loop.errors, urls };
  }

  #enqueue(identity: string, now: Instant): void {
    const digest = digestOf(identity, this.#p.sha256);
    if (this.#held.has(digest)) {
      if (this.#settling !== null) this.#held.set(digest, true);
      return;
    }
    if (this.#queue.size === 0) this.#oldestAtMs = now.mono;
    this.#queue.set(digest, identity);
  }

  #readStore(now: Instant): void {
    const { batch } = this.#p.settings;
    if (!this.#storeHasMore || this.#queue.size >= batch) return;
    const max = this.#queue.size + this.#held.size + batch;
    const identities = this.#p.store.more(max);
    for (const identity of identities) this.#enqueue(identity, now);
    this.#storeHasMore = identities.length >= max;
  }

  /** When a frame that is not full is sent, unless this agent is idle (mono). */
  #sendAtMs(): number {
    const share = Math.min(1, this.#p.store.queued() / this.#p.settings.batch);
    return this.#oldestAtMs + LINGER_MIN_MS + share * (LINGER_MAX_MS - LINGER_MIN_MS);
  }

  #makeFrames(now: Instant): void {
    const { batch } = this.#p.settings;
    while (this.#queue.size > 0 && this.#frames.size < FRAMES_MAX) {
      if (this.#queue.size < batch) {
        if (this.#frames.size > 0) return;
        if (now.mono < this.#sendAtMs() && !this.#p.store.isIdle()) return;
      }
      const part = [...this.#queue].slice(0, batch);
      for (const [digest] of part) this.#queue.delete(digest);
      this.#oldestAtMs = now.mono;
      this.#make(part, now);
    }
  }

  /**
   * An agent without other work asks again for URLs that others had claimed, in rounds of one or
   * more frames. If some are now this network's, it asks for the next at once: otherwise it would
   * visit the hosts of a network that has ended one after another.
   */
  #mayRepeat(now: Instant): boolean {
    if (this.#frames.size >= FRAMES_MAX) return false;
    if (this.#repeatFoundNew) {
      return this.#settling === null && !this.#frames.values().some((each) => each.isRepeated);
    }
    const isDue =
      this.#repeatAfter === null
        ? this.isQuiet && now.mono >= this.#repeatAtMs
        : this.#settling === null && this.#queue.size === 0 && !this.#storeHasMore;
    return isDue && this.#p.store.isIdle();
  }

  #repeat(now: Instant): void {
    const { batch, leaseMs } = this.#p.settings;
    this.#repeatFoundNew = false;
    if (this.#repeatAfter === null) this.#repeatFrames = 0;
    const isDoubted = this.#repeatPauseMs >= leaseMs;
    const max = isDoubted ? Math.min(DOUBTS_MAX, batch) : batch;
    const again = this.#p.store.elsewhere(this.#repeatAfter, max);
    const part = again
      .map((identity) => [digestOf(identity, this.#p.sha256), identity] as const)
      .filter(([digest]) => !this.#held.has(digest));
    if (part.length > 0) {
      this.#make(part, now, isDoubted ? 'doubted' : 'repeated');
      this.#repeatFrames++;
    }
    this.#repeatAfter = again.length < max ? null : again.at(-1)!;
    if (this.#repeatAfter !== null) return;
    // The round has ended. While nothing changes the pauses grow.
    const longerMs = this.#repeatFrames === 0 ? 0 : Math.min(leaseMs, this.#repeatPauseMs * 2);
    this.#repeatPauseMs = Math.max(this.#repeatPauseMinMs(), longerMs);
    this.#repeatAtMs = now.mono + this.#repeatPauseMs;
  }

  #repeatPauseMinMs(): number {
    const repeats = REPEATS_PER_LEASE / Math.max(1, this.#repeatFrames);
    return this.#p.settings.leaseMs / Math.max(REPEATS_PER_LEASE_MIN, repeats);
  }

  /** The next round comes sooner if this one has changed something, or there is more to ask. */
  #onVerdict({ owners, finals }: VerdictFrame, isRepeated: boolean, now: Instant): void {
    const hasNew = owners.includes('');
    if (isRepeated && hasNew) this.#repeatFoundNew = true;
    const isClaimed = owners.some((owner, i) => owner !== '' && finals[i] !== '1');
    if (isRepeated ? !hasNew && !finals.includes('1') : !isClaimed) return;
    this.#repeatPauseMs = 0;
    this.#repeatAtMs = Math.min(this.#repeatAtMs, now.mono + this.#repeatPauseMinMs());
  }

  #make(
    part: readonly (readonly [Digest, string])[],
    now: Instant,
    kind: 'first' | 'repeated' | 'doubted' = 'first',
  ): void {
    const { network } = this.#p.settings;
    const { agent, token } = this.#p;
    const number = `${network}/${token}/${++this.#lastNumber}`;
    const digests = part.map(([digest]) => digest);
    const identities = part.map(([, identity]) => identity);
    const frame: Frame = {
      ...{ number, flag: 1, network, origin: agent, relay: network, sender: token, digests },
      ...(kind === 'doubted' && { identities }),
    };
    const times = { madeAtMs: now.mono, sentAtMs: null };
    const isRepeated = kind !== 'first';
    this.#frames.set(number, { frame, identities, ...times, isRepeated });
    for (const digest of digests) this.#held.set(digest, false);
    this.#counts.frames++;
    this.#loop.kick();
    this.#p.sends();
  }

  /** Sends what is due, and looks for verdicts. */
  async #exchange(now: Instant): Promise<number> {
    const resendMs = 2 * this.#p.settings.timeoutMs;
    const due = [...this.#frames.values()].filter(({ sentAtMs }) => {
      return sentAtMs === null || now.mono - sentAtMs >= resendMs;
    });
    // In one round trip.
    const [found] = await Promise.all([
      this.#own.verdicts(this.#p.agent, this.#cursor, VERDICTS_MAX),
      ...due.map((submitted) => this.#send(submitted, now)),
    ]);
    for (const { id, verdict } of found) {
      this.#cursor = id;
      this.#arrived.push(verdict);
    }
    if (found.length === VERDICTS_MAX) return 0;
    if (due.length > 0) return this.#pollMs;
    if (found.length > 0) this.#pollMs = Math.max(POLL_MIN_MS, this.#pollMs * 0.9);
    else this.#pollMs = Math.min(POLL_MAX_MS, this.#pollMs * 1.5);
    return this.#pollMs;
  }

  async #send(submitted: Submitted, now: Instant): Promise<void> {
    await this.#own.submit(submitted.frame);
    submitted.sentAtMs = now.mono;
  }

  /** Decides the URLs of the verdicts that have arrived, as many as a turn has time for. */
  #settle(now: Instant): void {
    this.#p.slice?.begin();
    while (this.#settling !== null || this.#arrived.length > 0) {
      this.#settling ??= {
        verdict: this.#arrived.shift()!,
        decided: 0,
        givenUp: [],
      };
      if (!this.#settlePart(this.#settling, now)) return this.#p.wake();
      this.#settling = null;
    }
  }

  /** False: the turn has no time for the rest of the verdict. */
  #settlePart(settling: Settling, now: Instant): boolean {
    const { verdict } = settling;
    if (!this.#fits(verdict)) return true;
    const { identities, isRepeated, madeAtMs } = this.#frames.get(verdict.number)!;
    this.#onVerdict(verdict, isRepeated, now);
    for (; settling.decided < identities.length; settling.decided++) {
      if (this.#p.slice?.mayGoOn() === false) return false;
      this.#decide(identities[settling.decided]!, settling, isRepeated);
    }
    this.#take(verdict.number);
    for (const identity of settling.givenUp) this.#p.release(identity);
    this.#counts.verdicts++;
    this.#counts.latencyMs += now.mono - madeAtMs;
    return true;
  }

  #decide(identity: string, settling: Settling, isRepeated: boolean): void {
    const { verdict, decided: i, givenUp } = settling;
    const network = verdict.owners[i]!;
    if (network === '') {
      const isWanted = this.#decideNew(identity, verdict.isPartial);
      if (!isWanted) givenUp.push(identity);
      return;
    }
    const isFinal = verdict.finals[i] === '1';
    if (!isRepeated) this.#counts.elsewhere++;
    this.#p.store.decide(identity, { kind: 'elsewhere', network, isFinal });
  }

  /** Other programs can write to Redis: the frame stays open until its own verdict comes. */
  #fits({ number, owners }: VerdictFrame): boolean {
    const { networks } = this.#p.settings;
    const isKnown = owners.every((owner) => owner === '' || networks.includes(owner));
    return isKnown && this.#frames.get(number)?.identities.length === owners.length;
  }

  /** False: the URL is not wanted any more. */
  #decideNew(identity: string, isPartial: boolean): boolean {
    if (isPartial) this.#counts.partial++;
    return this.#p.store.decide(identity, { kind: 'new', isPartial });
  }

  #take(number: string): Submitted | null {
    const submitted = this.#frames.get(number);
    if (!submitted) return null;
    this.#frames.delete(number);
    for (const digest of submitted.frame.digests) {
      if (this.#held.get(digest)) this.#storeHasMore = true;
      this.#held.delete(digest);
    }
    return submitted;
  }

  /** Decides without verdict if Redis, or the centre, has been away for too long. */
  #proceed(now: Instant): void {
    const { timeoutMs, leaseMs, batch } = this.#p.settings;
    const isAway = this.#loop.troubleMs(now) >= timeoutMs;
    for (const { frame, madeAtMs } of [...this.#frames.values()]) {
      const isSettling = this.#settling?.verdict.number === frame.number;
      if (isSettling || (!isAway && now.mono - madeAtMs < 2 * leaseMs + timeoutMs)) continue;
      const { identities, isRepeated } = this.#take(frame.number)!;
      // URLs of this frame that wait again were not read from the store while it was open.
      if (isRepeated) this.#storeHasMore = true;
      else this.#decideAlone(identities);
    }
    if (!isAway || this.#queue.size === 0) return;
    const part = [...this.#queue].slice(0, batch);
    for (const [digest] of part) this.#queue.delete(digest);
    this.#decideAlone(part.map(([, identity]) => identity));
  }

  #decideAlone(identities: readonly string[]): void {
    for (const identity of identities) {
      if (!this.#decideNew(identity, true)) this.#p.release(identity);
    }
    this.#p.claimsMissing();
  }
}
