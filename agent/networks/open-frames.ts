// The frames that a centre has claimed and not settled, with what the other networks say of each
// digest. If two networks ask for a digest at once, the lower one concedes when it sees the other's
// question. The higher one still waits for the answer: the other may have decided before.

import type { Instant } from '../../failure-detector/instant.ts';
import type { Digest, Frame, Mark, VerdictFrame } from './pools.ts';

/** `?`: not decided. `k`: this network ranks higher, and waits for the answer. `0`: it keeps it. */
type Decision = Mark | '?' | 'k';

export interface OpenFrame {
  readonly frame: Frame;
  readonly claimedAt: Instant;
  /** The digests that this frame has claimed; the others were this network's before. */
  readonly claimed: ReadonlySet<Digest>;
  /** By network, the decision for each claimed digest. */
  readonly decisions: ReadonlyMap<string, Map<Digest, Decision>>;
  /** A network without centre has lost its pools, or its claims do not count any more. */
  isUnanswerable: boolean;
}

export class OpenFrames {
  readonly #others: readonly string[];
  readonly #frames = new Map<string, OpenFrame>();
  readonly #byDigest = new Map<Digest, OpenFrame>();

  constructor(others: readonly string[]) {
    this.#others = others;
  }

  get size(): number {
    return this.#frames.size;
  }

  all(): IterableIterator<OpenFrame> {
    return this.#frames.values();
  }

  has(number: string): boolean {
    return this.#frames.has(number);
  }

  /** A digest of the frame is in an open frame. */
  overlaps({ digests }: Frame): boolean {
    return digests.some((digest) => this.#byDigest.has(digest));
  }

  /**
   * `marks`: this network's own marks before the claim. A digest is asked for in one frame only, so
   * that each answer finds its frame, whatever another program wrote into the pools.
   */
  add(frame: Frame, marks: string, now: Instant): void {
    const isClaimed = (digest: Digest, i: number) => marks[i] === '0' && !this.isAsking(digest);
    const claimed = new Set(frame.digests.filter(isClaimed));
    const undecided = () => new Map([...claimed].map((digest) => [digest, '?' as Decision]));
    const decisions = new Map(this.#others.map((network) => [network, undecided()]));
    const open: OpenFrame = { frame, claimedAt: now, claimed, decisions, isUnanswerable: false };
    this.#frames.set(frame.number, open);
    for (const digest of frame.digests) {
      if (claimed.has(digest) || !this.#byDigest.has(digest)) this.#byDigest.set(digest, open);
    }
  }

  delete(number: string): void {
    const open = this.#frames.get(number);
    this.#frames.delete(number);
    for (const digest of open?.frame.digests ?? []) {
      if (this.#byDigest.get(digest) === open) this.#byDigest.delete(digest);
    }
  }

  clear(): void {
    this.#frames.clear();
    this.#byDigest.clear();
  }

  /** Another network is being asked for the digest. */
  isAsking(digest: Digest): boolean {
    return this.#byDigest.get(digest)?.claimed.has(digest) === true;
  }

  /** The answer of a network. A claim of it counts even if it was unknown before. */
  decide(digest: Digest, network: string, mark: Mark): void {
    const decisions = this.#byDigest.get(digest)?.decisions.get(network);
    const before = decisions?.get(digest);
    if (before === '?' || before === 'k' || before === '0') decisions!.set(digest, mark);
  }

  /** Both networks ask. Returns whether this one keeps the digest. */
  compare(digest: Digest, network: string, isHigher: boolean): boolean {
    const decisions = this.#byDigest.get(digest)!.decisions.get(network)!;
    if (decisions.get(digest) === '?') decisions.set(digest, isHigher ? 'k' : 'q');
    const decision = decisions.get(digest);
    return decision === 'k' || decision === '0';
  }

  /** The digests of a frame about which a network has not decided. */
  undecided(open: OpenFrame, network: string): Digest[] {
    const decisions = open.decisions.get(network)!;
    return [...open.claimed].filter((digest) => '?k'.includes(decisions.get(digest)!));
  }

  isDecided(open: OpenFrame): boolean {
    return this.#others.every((network) => this.undecided(open, network).length === 0);
  }

  /** The verdict on a frame, and the claims that it gives up. A missing answer counts as unknown. */
  verdict(open: OpenFrame): { verdict: VerdictFrame; conceded: Digest[] } {
    const { number, digests } = open.frame;
    const owner = (digest: Digest, mark: Mark) =>
      this.#others.find((network) => open.decisions.get(network)!.get(digest) === mark);
    const owners = digests.map((digest) => owner(digest, 'f') ?? owner(digest, 'q') ?? '');
    const finals = digests.map((digest) => (owner(digest, 'f') ? '1' : '0')).join('');
    const conceded = digests.filter((_, i) => owners[i] !== '');
    const isPartial = open.isUnanswerable || !this.isDecided(open);
    return { verdict: { number, owners, finals, isPartial }, conceded };
  }
}
