// The interface to the pools of a network, which are in its Redis. `redis/` implements it. All
// operations are asynchronous, are never repeated silently, and fail with an Error that names the
// network, the server and the cause. An operation that failed may have been executed.

/** The first 16 bytes of the SHA-256 of a URL's canonical identity, in base64url. */
export type Digest = string;

/** Unknown, claimed (queued or in flight), or finished. */
export type Mark = '0' | 'q' | 'f';

export interface Frame {
  /** Unique in the whole system, and kept when the frame is sent again. */
  readonly number: string;
  /** 1: an agent submits URLs to its centre. 2: a centre asks another network. 3: the answer. */
  readonly flag: 1 | 2 | 3;
  /** The network that asks. */
  readonly network: string;
  /** The agent that submitted the URLs. */
  readonly origin: string;
  /** The network whose centre sends the frame. */
  readonly relay: string;
  /** The agent that sends the frame. */
  readonly sender: string;
  readonly digests: readonly Digest[];
  /** Flag 2: the number of seeds of the network that asks. */
  readonly seeds?: number;
  /** The identities of the digests, after several questions without a change: the claims are doubted. */
  readonly identities?: readonly string[];
  /** A mark for each digest: the answer (flag 3), or the own marks before the claim (flag 1). */
  readonly marks?: string;
}

export interface Entry {
  readonly id: string;
  readonly frame: Frame;
}

export interface VerdictFrame {
  readonly number: string;
  /** For each digest the network that has it; empty: it is new. */
  readonly owners: readonly string[];
  /** For each digest 1 if that network has finished it, else 0. */
  readonly finals: string;
  /** The answer of a network is missing. */
  readonly isPartial: boolean;
}

export interface HostAsk {
  readonly host: string;
  /** The delay after another network's lease that expired without release. */
  readonly delayMs: number;
}

export interface HostGrant {
  readonly host: string;
  /** Milliseconds until the first request is allowed; null: another network has the lease. */
  readonly waitMs: number | null;
  /** That network, or the one that gets the lease first; only for messages. */
  readonly holder?: string;
}

export interface HostRelease {
  readonly host: string;
  /** What is left of the delay after the last request. */
  readonly delayMs: number;
  /** The grant that is released. A lease with another grant stays. */
  readonly grant: string;
}

/** A URL with what the network that found it knows of it. */
export interface GivenUrl {
  readonly url: string;
  readonly depth: number;
  readonly referrer?: string;
  readonly sitemap?: boolean;
}

/** Whether a network is there, and at rest. */
export interface Presence {
  readonly hasCentre: boolean;
  /** Its token. */
  readonly centre?: string;
  /** `rest ...` or `work ...`; empty: it has none. */
  readonly mark: string;
}

/**
 * An agent uses all operations with the pools of its own network; with those of another one only
 * `ask`, `marksOf`, `lapse`, `presence`, `mark`, `give` and the host leases.
 */
export interface Pools {
  submit(frame: Frame): Promise<void>;
  /** Centre: the frames that are not claimed, oldest first. It removes those of the inbox. */
  take(
    submittedMax: number,
    inboxMax: number,
  ): Promise<{ readonly submitted: readonly Entry[]; readonly inbox: readonly Frame[] }>;
  /**
   * Centre: claims the digests and keeps the frame with the marks before, which it returns. If the
   * frame is kept already, it returns the kept marks. It removes the entry. Null: not the centre
   * any more.
   */
  claim(token: string, entry: Entry): Promise<string | null>;
  /** Null: the pools are not filled. */
  marksOf(digests: readonly Digest[]): Promise<string | null>;
  /** Adds to the inbox of this network. */
  ask(frame: Frame): Promise<void>;
  /**
   * Centre: removes the conceded claims and the frame, and sends the verdict; nothing if the frame
   * is not kept. False: not the centre any more.
   */
  settle(
    token: string,
    origin: string,
    verdict: VerdictFrame,
    conceded: readonly Digest[],
  ): Promise<boolean>;
  /** Centre: the frames that are claimed and not settled, with their marks. */
  openFrames(): Promise<readonly Frame[]>;
  verdicts(
    agent: string,
    after: string,
    max: number,
  ): Promise<readonly { readonly id: string; readonly verdict: VerdictFrame }[]>;
  finish(digests: readonly Digest[]): Promise<void>;
  release(digests: readonly Digest[]): Promise<void>;
  /** Claims again what the network has queued. */
  hold(digests: readonly Digest[]): Promise<void>;
  /** Removes claims of a network without centre. False, without effect: it has one. */
  lapse(digests: readonly Digest[]): Promise<boolean>;
  /** How often others have removed claims of this network. Null: it has no centre. */
  lapses(): Promise<number | null>;
  /** Claims of this network that another one doubts. */
  doubt(identities: readonly string[]): Promise<void>;
  /** Some of them. */
  doubted(max: number): Promise<readonly string[]>;
  /** Their owners have looked at these. */
  examined(identities: readonly string[]): Promise<void>;
  /** Takes or renews the role of the centre. False: another token has it. */
  lead(token: string, leaseMs: number): Promise<boolean>;
  resign(token: string): Promise<void>;
  presence(): Promise<Presence>;
  /** Changes the mark if it is `before`, but not to rest if gifts wait. Returns the mark after it. */
  mark(before: string, after: string): Promise<string>;
  /** Adds a gift, and sets the mark. */
  give(urls: readonly GivenUrl[], mark: string): Promise<void>;
  gifts(
    max: number,
  ): Promise<readonly { readonly id: string; readonly urls: readonly GivenUrl[] }[]>;
  /** Removes these gifts, and sets the mark. */
  received(ids: readonly string[], mark: string): Promise<void>;
  /** The agents that have filled the pools; null: they are filled. */
  filledBy(): Promise<readonly string[] | null>;
  addFilled(agent: string): Promise<void>;
  setFilled(): Promise<void>;
  /** Also renews. `grant` names this command, for the release. */
  acquire(
    network: string,
    hosts: readonly HostAsk[],
    leaseMs: number,
    grant: string,
  ): Promise<readonly HostGrant[]>;
  releaseHosts(network: string, hosts: readonly HostRelease[]): Promise<void>;
}
