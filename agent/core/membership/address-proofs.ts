// Decides whether an incarnation may be added at the address that it claims. An address in the
// config is accepted. At any other address the agent must answer a PROBE with a HELLO that repeats
// the nonce, a keyed digest of the claim. If the identifier is in view already, the member may deny
// the claim of a later incarnation, by an answer to a PROBE or by further heartbeats.

import type { FailureDetector } from '../../../failure-detector/detector.ts';
import type { Instant } from '../../../failure-detector/instant.ts';
import type { AgentId, Incarnation, Message } from '../protocol/messages.ts';
import { putLatest } from '../protocol/put-latest.ts';
import { type CoreSettings, resendAfterMs, unheardMs } from '../protocol/settings.ts';
import type { Outbound } from './outbound.ts';
import type { Member, Rival, View } from './view.ts';

/** Minimum number of claims kept; the limit is `bounds.unconfigured` if that is higher. */
const ASKED_MAX = 64;

/** An incarnation, and the address at which it is said to listen. */
export interface Claim {
  readonly id: AgentId;
  readonly inc: Incarnation;
  readonly address: string;
  readonly capacity: number;
}

/** The evidence for a claim. */
export interface Evidence {
  /** The agent that reports the claim; absent: no refusal is recorded for anyone. */
  readonly by?: AgentId;
  /** The nonce that the agent itself returned. */
  readonly proof?: string | undefined;
  /** An agent of the config, at its configured address, hears the claimed agent directly. */
  readonly vouched?: boolean;
  /** It was reported in the WELCOME to this agent, which nobody else can have sent. */
  readonly asked?: boolean;
}

/** A claim that waits for its proof. */
interface Asked extends Omit<Claim, 'capacity'> {
  /** When the claim first and last arrived. */
  readonly since: number;
  readonly at: number;
  /**
   * When it arrived from the agent itself, since its last answer to a PROBE; null: others report it.
   */
  readonly own: { readonly since: number; readonly at: number } | null;
  /** An agent of the config has vouched for it. */
  readonly vouched: boolean;
}

/**
 * `asked`: undecided until the answer to a PROBE arrives; each heartbeat repeats the claim. `why`
 * is set if that takes longer than `suspectAfterMs`.
 */
export type Verdict =
  | { readonly code: 'granted' }
  | { readonly code: 'asked'; readonly why?: string }
  | { readonly code: 'refused' | 'full'; readonly why: string };

const GRANTED: Verdict = { code: 'granted' };
const ASKED: Verdict = { code: 'asked' };

interface AddressProofsParts {
  readonly settings: CoreSettings;
  readonly view: View;
  readonly outbound: Outbound;
  readonly detector: Pick<FailureDetector, 'lastNewsMs'>;
}

export class AddressProofs {
  readonly #p: AddressProofsParts;
  /** By identifier. Filled by claims that need a proof, emptied by `settled` and at `#askedMax`. */
  readonly #asked = new Map<AgentId, Asked>();
  /** When the last PROBE was sent, by its nonce; the oldest is dropped at `#askedMax`. */
  readonly #probedAt = new Map<string, number>();
  readonly #askedMax: number;
  #startAt = 0;

  constructor(parts: AddressProofsParts) {
    this.#p = parts;
    this.#askedMax = Math.max(ASKED_MAX, parts.settings.bounds.unconfigured);
  }

  reset(now: Instant): void {
    this.#startAt = now.mono;
    this.#asked.clear();
    this.#probedAt.clear();
  }

  /** @param isNews - the incarnation would be added to the view */
  judge(claim: Claim, evidence: Evidence, isNews: boolean, now: Instant): Verdict {
    const why = this.#objectionTo(claim);
    if (why !== null) return { code: 'refused', why };
    const excess = this.#excessWith(claim);
    if (excess !== null) return { code: 'full', why: excess };
    if (!this.#isReachable(claim, evidence, now)) return this.#unanswered(claim, evidence, now);
    const old = this.#p.view.get(claim.id);
    if (!old || !isNews) return GRANTED;
    if (old.card.address === claim.address) return this.#restart(old, claim, evidence, now);
    return this.#succession(old, claim, now);
  }

  /** Why the claim is refused whatever the evidence; null: there is no objection. */
  #objectionTo({ id, address }: Claim): string | null {
    if (this.#p.outbound.isConfigured({ id, address })) return null;
    if (address.startsWith('ipc:')) return `the config does not have it at ${address}`;
    const { configured } = this.#p.settings;
    const members = [...this.#p.view.members()].map(({ card }) => card);
    const holder = [this.#p.settings, ...configured, ...members].find(
      (other) => other.address === address && other.id !== id,
    );
    const inConfig = new Set(configured.map((peer) => peer.id));
    if (holder && !this.#isVacant(holder.id, inConfig)) {
      return `its address ${address} is that of ${holder.id}`;
    }
    return null;
  }

  /** Which limit of the members outside the config the claim would exceed; null: none. */
  #excessWith({ id, address, capacity }: Claim): string | null {
    if (this.#p.outbound.isConfigured({ id, address })) return null;
    const inConfig = new Set(this.#p.settings.configured.map((peer) => peer.id));
    if (inConfig.has(id)) return null;
    const { unconfigured: max, unconfiguredCapacity: capacityMax } = this.#p.settings.bounds;
    const members = [...this.#p.view.members()].map(({ card }) => card);
    const others = members.filter((other) => other.id !== id && !inConfig.has(other.id));
    if (others.length >= max) return `${max} agents that are not in the config are members already`;
    const total = others.reduce((sum, other) => sum + other.capacity, capacity);
    if (total <= capacityMax) return null;
    return `agents that are not in the config would have a capacity of ${total} together`;
  }

  /**
   * Whether the holder of the address is a member outside the config without recent heartbeats.
   * Another agent may have been started there; it must answer a PROBE, and only one process can.
   */
  #isVacant(holder: AgentId, inConfig: ReadonlySet<AgentId>): boolean {
    return !inConfig.has(holder) && this.#p.view.get(holder)?.silent === true;
  }

  /** Whether the agent is known to listen at its address. If not, sends a PROBE there. */
  #isReachable(claim: Claim, evidence: Evidence, now: Instant): boolean {
    const { id, address } = claim;
    if (this.#p.outbound.isConfigured(claim)) return true;
    if (this.#p.view.get(id)?.card.address === address) return true;
    const { configured, leaseMs } = this.#p.settings;
    const isElsewhere = !this.#p.view.has(id) && configured.some((peer) => peer.id === id);
    // The agent at the configured address may not have had time to answer this agent's HELLO.
    const isEarly = isElsewhere && now.mono - this.#startAt < leaseMs;
    const isProven = evidence.proof === this.#nonceOf(claim);
    const { since } = this.#ask(claim, evidence, isProven, now);
    // A relay can reach an agent that only the voucher reaches. A joining agent accepts the
    // vouchers of a WELCOME at once, because it has no time to probe hundreds of addresses.
    const isVouched = evidence.vouched && (evidence.asked || now.mono - since >= leaseMs);
    if (!isEarly && (isProven || isVouched)) return true;
    this.#probe(claim, now);
    return false;
  }

  /**
   * Gives a reason only if the agent itself claims the address all the time. Others may be able to
   * reach it, and an answer may be lost if the agent's own messages do not arrive either.
   */
  #unanswered({ id, address }: Claim, { by }: Evidence, now: Instant): Verdict {
    const since = this.#asked.get(id)?.own?.since ?? now.mono;
    if (by !== id || now.mono - since < this.#p.settings.suspectAfterMs) return ASKED;
    return { code: 'asked', why: `no agent answers for it at ${address}` };
  }

  #ask({ id, inc, address }: Claim, evidence: Evidence, isProven: boolean, now: Instant): Asked {
    const { suspectAfterMs } = this.#p.settings;
    const known = this.#asked.get(id);
    // In a partial view, an agent may greet another again long after its first HELLO.
    const isRecent = known && now.mono - known.at < suspectAfterMs;
    const same = isRecent && known.inc === inc && known.address === address ? known : null;
    const vouched = evidence.vouched === true || same?.vouched === true;
    let own = isProven ? null : (same?.own ?? null);
    if (own && now.mono - own.at > suspectAfterMs / 2) own = null;
    if (evidence.by === id) own = { since: own?.since ?? now.mono, at: now.mono };
    const asked = { id, inc, address, since: same?.since ?? now.mono, at: now.mono, vouched, own };
    this.#asked.delete(id);
    // A claim without a voucher is dropped first, because anybody can make one.
    if (this.#asked.size >= this.#askedMax) {
      const all = [...this.#asked.values()];
      this.#asked.delete((all.find((one) => !one.vouched) ?? all[0]!).id);
    }
    this.#asked.set(id, asked);
    return asked;
  }

  /** The identifier was added to the view. */
  settled(id: AgentId): void {
    this.#asked.delete(id);
  }

  /**
   * Whether this agent's join must wait for a claim that may still be proved: for `suspectAfterMs`
   * after the start, and for three times as long if an agent of the config vouches for the claim.
   */
  isAsking(now: Instant): boolean {
    const { suspectAfterMs } = this.#p.settings;
    const forMs = now.mono - this.#startAt;
    const isWaitedFor = ({ at, vouched }: Asked) =>
      now.mono - at < suspectAfterMs && forMs < (vouched ? 3 : 1) * suspectAfterMs;
    return this.#asked.values().some(isWaitedFor);
  }

  /**
   * A later incarnation at the same address: after a restart or rebirth the agent answers for its
   * new incarnation only. A claim is false for ever if heartbeats of the member continue after it.
   */
  #restart(old: Member, claim: Claim, { proof }: Evidence, now: Instant): Verdict {
    const { card, heardAt } = old;
    const patienceMs = unheardMs(this.#p.settings);
    if (proof === this.#nonceOf(claim)) return GRANTED;
    const { since } = this.#rivalOf(old, claim, now);
    if (heardAt - since > patienceMs) {
      return { code: 'refused', why: `${card.id} still runs as incarnation ${card.inc}` };
    }
    if (now.mono - Math.max(heardAt, since) >= patienceMs) return GRANTED;
    this.#probe(claim, now);
    return ASKED;
  }

  /**
   * A later incarnation at another address: it is a second process, unless the member has exited.
   * If it were added, it would receive all messages to the first, which would then suspect all
   * others.
   */
  #succession(old: Member, claim: Claim, now: Instant): Verdict {
    const { card, heardAt } = old;
    const rival = this.#rivalOf(old, claim, now);
    // A heartbeat that may have been sent before the claim arrived is not a denial.
    if (rival.denied || heardAt - rival.since > unheardMs(this.#p.settings)) {
      const why = `${card.id} runs at ${card.address}: stop that one, or this one at ${claim.address}`;
      return { code: 'refused', why };
    }
    // The member keeps its lease while others relay news of it, because this agent echoes that
    // news.
    const lastNewsMs = this.#p.detector.lastNewsMs(card.id) ?? heardAt;
    if (now.mono - Math.max(heardAt, lastNewsMs, rival.since) >= this.#p.settings.leaseMs)
      return GRANTED;
    const nonce = this.#denialOf(old, rival);
    if (this.#isDue(nonce, now)) this.#p.outbound.toMember(old, this.#probeWith(nonce));
    return ASKED;
  }

  #rivalOf(old: Member, { inc, address }: Claim, now: Instant): Rival {
    const { rival } = old;
    if (rival?.inc === inc && rival.address === address) return rival;
    // Alternating claims must not delay the decision about a member without heartbeats.
    const isSilent = rival && !rival.denied && old.heardAt <= rival.since;
    const since = isSilent ? rival.since : now.mono;
    old.rival = { inc, address, since, denied: false };
    return old.rival;
  }

  /** Whether a HELLO is the member's denial of a rival's claim; notes the denial. */
  takeDenial(member: Member | undefined, inc: Incarnation, proof: string | undefined): boolean {
    if (!member?.rival || member.card.inc !== inc || proof === undefined) return false;
    if (proof !== this.#denialOf(member, member.rival)) return false;
    member.rival.denied = true;
    return true;
  }

  #nonceOf({ id, inc, address }: Claim): string {
    return this.#p.settings.digest(`${this.#p.settings.proofKey} ${id} ${inc} ${address}`);
  }

  #denialOf({ card }: Member, { inc, address, since }: Rival): string {
    const claims = `${card.id} ${card.inc} ${card.address} ${inc} ${address} ${since}`;
    return this.#p.settings.digest(`${this.#p.settings.proofKey} ${claims}`);
  }

  #probe(claim: Claim, now: Instant): void {
    const nonce = this.#nonceOf(claim);
    if (this.#isDue(nonce, now)) this.#p.outbound.toAddress(claim, this.#probeWith(nonce));
  }

  #probeWith(nonce: string): Message {
    const { address, fingerprintHash } = this.#p.settings;
    return { type: 'PROBE', nonce, fingerprintHash, address };
  }

  /**
   * Limits the rate of PROBEs for a claim, which the heartbeats of all members may repeat. The
   * limit is per claim, so a false claim to an address does not delay the true one.
   */
  #isDue(nonce: string, now: Instant): boolean {
    const at = this.#probedAt.get(nonce) ?? -Infinity;
    if (now.mono - at < resendAfterMs(this.#p.settings)) return false;
    putLatest(this.#probedAt, nonce, now.mono, this.#askedMax);
    return true;
  }
}
