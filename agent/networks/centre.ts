// The role that decides for a network which URLs are new. The agent that has it takes the frames of
// all agents, claims their digests, asks the other networks, and sends the verdicts. It also answers
// the others. All that another agent needs to take the role over is in Redis: whatever a step had
// begun is done again, under the same numbers.

import { elapsedMs, type Instant } from '../../failure-detector/instant.ts';
import { Loop } from './loop.ts';
import type { NetworkParts } from './network-settings.ts';
import { type OpenFrame, OpenFrames } from './open-frames.ts';
import { Peer } from './peer.ts';
import type { Digest, Entry, Frame, Mark, Pools, VerdictFrame } from './pools.ts';
import { ranksAbove } from './rendezvous.ts';

interface CentreParts extends NetworkParts {
  /** This agent is to have the role. */
  readonly isWanted: () => boolean;
  /** The agents of this network. `isPartial`: there may be others. */
  readonly members: () => { readonly agents: readonly string[]; readonly isPartial: boolean };
  readonly now: () => Instant;
  /** A verdict has been sent to this agent. */
  readonly settled: (verdict: VerdictFrame) => void;
}

/** Open frames: eight agents with as many as they may have. With fewer, frames wait for whole rounds. */
const OPEN_MAX = 32;
const INBOX_MAX = 32;
/** The interval of looks at the pools: shorter if one finds several frames or answers, longer if none. */
const POLL_MIN_MS = 20;
const POLL_MAX_MS = 400;
/** For so long, as a share of `leaseMs`, a new centre awaits networks that have said nothing. */
const BEGIN_SHARE = 1 / 3;
/** An agent that waits for the role tries this often. */
const RETRY_MS = 500;

export class Centre {
  readonly #p: CentreParts;
  readonly #own: Pools;
  readonly #loop: Loop;
  readonly #frames: OpenFrames;
  readonly #peers: ReadonlyMap<string, Peer>;
  /** Since when this agent has the role, by its last renewal, from before it was sent. */
  #ledFrom: Instant | null = null;
  /** The role was given up, and Redis has not confirmed it. */
  #mustResign = false;
  /** When it first had the role. */
  #begunAt: Instant | null = null;
  /** Since when this agent has been waiting for the role. */
  #barredSince: Instant | null = null;
  /** The open frames in Redis are in memory. */
  #isLoaded = false;
  #pollMs = POLL_MIN_MS;
  #unfilledSince: Instant | null = null;
  #filledCheckAtMs = -Infinity;
  readonly #counts = { taken: 0, settled: 0, partial: 0, answered: 0, conceded: 0 };

  constructor(parts: CentreParts) {
    this.#p = parts;
    const { settings, wake, onError } = parts;
    this.#own = parts.pools.get(settings.network)!;
    const others = settings.networks.filter((name) => name !== settings.network);
    this.#frames = new OpenFrames(others);
    const leads = () => this.#leads(this.#p.now());
    const frames = this.#frames;
    this.#peers = new Map(
      others.map((other) => [other, new Peer({ ...parts, other, frames, leads })]),
    );
    this.#loop = new Loop({ run: (now) => this.#step(now), wake, onError });
  }

  pump(now: Instant): void {
    if (this.#hasWork()) this.#loop.pump(now);
    for (const peer of this.#peers.values()) peer.pump(now);
  }

  /** The role, its frames and the pools may have been lost. */
  serverChanged(): void {
    this.#drop();
    this.#filledCheckAtMs = -Infinity;
    this.#loop.kick();
  }

  /** A frame may have been submitted. */
  kick(): void {
    this.#loop.kick();
  }

  nextAtMs(): number {
    if (!this.#hasWork()) return Infinity;
    return Math.min(this.#loop.nextAtMs(), ...[...this.#peers.values()].map((p) => p.nextAtMs()));
  }

  /** This agent does not have the role, and Redis has confirmed that. */
  get hasResigned(): boolean {
    return this.#ledFrom === null && !this.#mustResign && !this.#loop.isOpen;
  }

  #hasWork(): boolean {
    return this.#p.isWanted() || this.#ledFrom !== null || this.#mustResign;
  }

  /** This agent has the role. */
  get isLeading(): boolean {
    return this.#ledFrom !== null;
  }

  counts() {
    const peers = [...this.#peers].map(([network, peer]) => ({ network, ...peer.counts() }));
    return { ...this.#counts, open: this.#frames.size, errors: this.#loop.errors, peers };
  }

  /** The networks without centre, as far as the centre of this one has looked. */
  absent(now: Instant): { readonly network: string; readonly forMs: number }[] {
    if (this.#ledFrom === null) return [];
    const peers = [...this.#peers].map(([network, peer]) => ({
      network,
      forMs: peer.absentMs(now),
    }));
    return peers.filter(({ forMs }) => forMs > 0);
  }

  #leads(now: Instant): boolean {
    return this.#ledFrom !== null && elapsedMs(this.#ledFrom, now) < this.#p.settings.leaseMs;
  }

  async #step(now: Instant): Promise<number> {
    if (!this.#p.isWanted()) {
      this.#barredSince = null;
      this.#mustResign = true;
      this.#drop();
      await this.#own.resign(this.#p.token);
      this.#mustResign = false;
      return RETRY_MS;
    }
    if (!(await this.#lead(now))) return RETRY_MS;
    if (!this.#isLoaded) await this.#load(now);
    const submittedMax = Math.max(0, OPEN_MAX - this.#frames.size);
    const decided = this.#decided();
    // In one round trip.
    const [{ submitted, inbox }] = await Promise.all([
      this.#own.take(submittedMax, INBOX_MAX),
      this.#checkFilled(now),
      ...decided.map((open) => this.#settle(open)),
    ]);
    if (this.#ledFrom === null) return RETRY_MS;
    await this.#receive(inbox);
    const claimed = await this.#claimAll(submitted);
    if (claimed > 0) for (const peer of this.#peers.values()) peer.kick();
    if (this.#decided().length > 0) return 0;
    const found = claimed + inbox.length + decided.length;
    if (found > 1) this.#pollMs = Math.max(POLL_MIN_MS, this.#pollMs * 0.9);
    else if (found === 0) this.#pollMs = Math.min(POLL_MAX_MS, this.#pollMs * 2);
    return Math.min(this.#pollMs, this.#p.settings.timeoutMs / 5);
  }

  async #lead(now: Instant): Promise<boolean> {
    const { leaseMs } = this.#p.settings;
    if (this.#ledFrom && elapsedMs(this.#ledFrom, now) < leaseMs / 3) return true;
    const had = this.#leads(now);
    if (!(await this.#own.lead(this.#p.token, leaseMs))) {
      this.#drop();
      this.#barredSince ??= now;
      if (elapsedMs(this.#barredSince, now) > 2 * leaseMs) await this.#reportDouble();
      return false;
    }
    this.#barredSince = null;
    this.#mustResign = false;
    if (!had) this.#drop();
    this.#ledFrom = now;
    this.#begunAt ??= now;
    return true;
  }

  /** A member whose hosts move gives the role up, and one that has died loses it after a lease. */
  async #reportDouble(): Promise<void> {
    const { centre } = await this.#own.presence();
    const holder = centre?.slice(0, centre.lastIndexOf('.'));
    const { agents } = this.#p.members();
    const isMember = holder !== this.#p.agent && agents.includes(holder ?? '');
    if (holder === undefined || isMember) return;
    const { network } = this.#p.settings;
    const message =
      `network ${network}: an agent that is no member of this cluster is its centre; ` +
      "give each cluster a 'dedup.network' of its own, or end the other cluster";
    this.#p.onError(Object.assign(new Error(message), { network }));
  }

  /** The role is lost or given up. What was begun is in Redis. */
  #drop(): void {
    this.#ledFrom = null;
    this.#isLoaded = false;
    this.#frames.clear();
  }

  async #load(now: Instant): Promise<void> {
    const frames = await this.#own.openFrames();
    for (const frame of frames) {
      if (!this.#frames.has(frame.number)) this.#frames.add(frame, frame.marks!, now);
    }
    this.#isLoaded = true;
    for (const peer of this.#peers.values()) peer.kick();
  }

  async #checkFilled(now: Instant): Promise<void> {
    if (now.mono < this.#filledCheckAtMs) return;
    const { leaseMs } = this.#p.settings;
    const filledBy = await this.#own.filledBy();
    this.#filledCheckAtMs = now.mono + (filledBy === null ? leaseMs / 12 : POLL_MAX_MS);
    if (filledBy === null) {
      this.#unfilledSince = null;
      return;
    }
    this.#unfilledSince ??= now;
    const { agents, isPartial } = this.#p.members();
    if (!agents.every((agent) => filledBy.includes(agent))) return;
    // Agents that this one does not know have this time.
    if (isPartial && elapsedMs(this.#unfilledSince, now) < leaseMs) return;
    await this.#own.setFilled();
  }

  async #receive(inbox: readonly Frame[]): Promise<void> {
    const questions = inbox.filter(({ flag, network }) => flag === 2 && this.#peers.has(network));
    // In one round trip.
    const marks = await Promise.all(questions.map(({ digests }) => this.#own.marksOf(digests)));
    const own = new Map(questions.map((question, i) => [question, marks[i]]));
    const doubted: string[] = [];
    for (const frame of inbox) {
      const marksOfFrame = own.get(frame);
      if (marksOfFrame) doubted.push(...this.#answer(frame, marksOfFrame));
      if (frame.flag === 3) this.#peers.get(frame.relay)?.answered();
      // Only an answer to a frame that is still open counts.
      if (frame.flag !== 3 || !this.#frames.has(frame.number)) continue;
      for (const [i, digest] of frame.digests.entries()) {
        this.#frames.decide(digest, frame.relay, frame.marks![i] as Mark);
      }
    }
    if (doubted.length > 0) await this.#own.doubt(doubted);
  }

  /** Returns the identities whose claims are doubted. */
  #answer(question: Frame, own: string): string[] {
    const { identities = [], ...asked } = question;
    const marks = question.digests.map((digest, i) => {
      return this.#markFor(question, digest, own[i] as Mark);
    });
    this.#counts.answered++;
    const from = { relay: this.#p.settings.network, sender: this.#p.token };
    const answer: Frame = { ...asked, flag: 3, ...from, marks: marks.join('') };
    this.#peers.get(question.network)!.answer(answer);
    return identities.filter((_, i) => {
      return own[i] === 'q' && !this.#frames.isAsking(question.digests[i]!);
    });
  }

  #markFor({ network: asker, seeds = 0 }: Frame, digest: Digest, own: Mark): Mark {
    if (own === 'f' || !this.#frames.isAsking(digest)) return own;
    const { network } = this.#p.settings;
    // The network with fewer seeds may know no other URL yet.
    const more = this.#p.settings.seeds - seeds;
    const isHigher = more === 0 ? ranksAbove(network, asker, digest, this.#p.sha256) : more < 0;
    return this.#frames.compare(digest, asker, isHigher) ? 'q' : '0';
  }

  /** In one round trip, those that have no digest in common. Returns how many are, or were, claimed. */
  async #claimAll(submitted: readonly Entry[]): Promise<number> {
    const taken = new Set<Digest>();
    const free = submitted.filter(({ frame }) => {
      const isOpen = this.#frames.has(frame.number);
      if (!isOpen && this.#frames.overlaps(frame)) return false;
      if (frame.digests.some((digest) => taken.has(digest))) return false;
      for (const digest of frame.digests) taken.add(digest);
      return true;
    });
    const claims = free.map((entry) => this.#claim(entry));
    return (await Promise.all(claims)).filter(Boolean).length;
  }

  /** True: the frame is, or was, claimed. */
  async #claim(entry: Entry): Promise<boolean> {
    const { frame } = entry;
    try {
      const marks = await this.#own.claim(this.#p.token, entry);
      if (marks === null || this.#ledFrom === null) {
        this.#drop();
        return false;
      }
      if (this.#frames.has(frame.number)) return true;
      this.#frames.add(frame, marks, this.#p.now());
    } catch (error) {
      // It may have been claimed.
      this.#isLoaded = false;
      throw error;
    }
    this.#counts.taken++;
    return true;
  }

  /** The frames whose verdict is certain, or awaited no longer. */
  #decided(): OpenFrame[] {
    const { timeoutMs, onTimeout } = this.#p.settings;
    const now = this.#p.now();
    const canBeLate = onTimeout === 'proceed' && !this.#awaitsBegin(now);
    return [...this.#frames.all()].filter((open) => {
      const isLate = canBeLate && elapsedMs(open.claimedAt, now) >= timeoutMs;
      return isLate || this.#frames.isDecided(open);
    });
  }

  /** Networks that start at the same time answer nothing until all of their agents have joined. */
  #awaitsBegin(now: Instant): boolean {
    const isEarly = elapsedMs(this.#begunAt ?? now, now) < this.#p.settings.leaseMs * BEGIN_SHARE;
    return isEarly && [...this.#peers.values()].some(({ hasBegun }) => !hasBegun);
  }

  async #settle(open: OpenFrame): Promise<void> {
    const now = this.#p.now();
    await Promise.all([...this.#peers.values()].map((peer) => peer.giveUp(open, now)));
    if (!this.#frames.has(open.frame.number)) return;
    const { verdict, conceded } = this.#frames.verdict(open);
    // From here the decisions stand: the digests count as claimed, or as conceded.
    const { origin, number } = open.frame;
    const isCentre = await this.#own.settle(this.#p.token, origin, verdict, conceded);
    if (!isCentre) return this.#drop();
    this.#frames.delete(number);
    if (origin === this.#p.agent) this.#p.settled(verdict);
    this.#counts.settled++;
    this.#counts.conceded += conceded.length;
    if (verdict.isPartial) this.#counts.partial++;
  }
}
