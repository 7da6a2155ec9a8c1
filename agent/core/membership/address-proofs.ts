// An agent may name any address as its own. This agent believes the address that the config has for it.
// At any other address it asks for a proof: it sends a PROBE with a nonce there, and the HELLO that
// answers brings the nonce back. The nonce is a keyed digest of the claim, so nothing has to be
// remembered to check it. An identifier in view goes over to a later incarnation only where the one in
// view does not deny it: it is asked too, and its answer, or its heartbeats, are the denial. Called by
// `membership.ts` before it takes an incarnation into the view.

import type { FailureDetector } from '../../../failure-detector/detector.ts';
import type { Instant } from '../../../failure-detector/instant.ts';
import type { AgentId, Incarnation, Message } from '../protocol/messages.ts';
import { putLatest } from '../protocol/put-latest.ts';
import { type CoreSettings, resendAfterMs, unheardMs } from '../protocol/settings.ts';
import type { Outbound } from './outbound.ts';
import type { Member, Rival, View } from './view.ts';

/** Claims remembered at least; as many as members may come in by them, where that is more. */
const ASKED_MAX = 64;

/** An incarnation, and where it is said to listen. */
export interface Claim {
  readonly id: AgentId;
  readonly inc: Incarnation;
  readonly address: string;
  readonly capacity: number;
}

/** What speaks for a claim. */
export interface Word {
  /** Who says so; absent: nobody is to be named for it. */
  readonly by?: AgentId;
  /** Of the agent itself. */
  readonly proof?: string | undefined;
  /** An agent of the config, at its address there, says that it hears it directly. */
  readonly vouched?: boolean;
  /** It said so in the answer to a HELLO of this agent, which nobody else can have sent. */
  readonly asked?: boolean;
}

interface Asked extends Omit<Claim, 'capacity'> {
  /** When it was first made, and when last. */
  readonly since: number;
  readonly at: number;
  /** An agent of the config has vouched for it. */
  readonly vouched: boolean;
}

/**
 * `asked`: not yet, and a PROBE is on its way; the claim comes again with each heartbeat. `why` is there
 * when it has been so for long.
 */
export type Verdict =
  | { readonly code: 'granted' }
  | { readonly code: 'asked'; readonly why?: string }
  | { readonly code: 'refused'; readonly why: string };

const GRANTED: Verdict = { code: 'granted' };
const ASKED: Verdict = { code: 'asked' };

export class AddressProofs {
  readonly #settings: CoreSettings;
  readonly #view: View;
  readonly #outbound: Outbound;
  readonly #detector: Pick<FailureDetector, 'lastNewsMs'>;
  /** By identifier. Filled by claims that need a proof, emptied by `settled` and at `#askedMax`. */
  readonly #asked = new Map<AgentId, Asked>();
  /** When the last PROBE went out, by its nonce; the oldest is dropped at `#askedMax`. */
  readonly #probedAt = new Map<string, number>();
  readonly #askedMax: number;
  #startAt = 0;

  constructor(parts: {
    settings: CoreSettings;
    view: View;
    outbound: Outbound;
    detector: Pick<FailureDetector, 'lastNewsMs'>;
  }) {
    this.#settings = parts.settings;
    this.#view = parts.view;
    this.#outbound = parts.outbound;
    this.#detector = parts.detector;
    this.#askedMax = Math.max(ASKED_MAX, parts.settings.bounds.unconfigured);
  }

  reset(now: Instant): void {
    this.#startAt = now.mono;
    this.#asked.clear();
    this.#probedAt.clear();
  }

  /** Whether the claim may be acted on; `isNews`: of an incarnation that would come into view. */
  judge(claim: Claim, word: Word, isNews: boolean, now: Instant): Verdict {
    const why = this.#objectionTo(claim);
    if (why !== null) return { code: 'refused', why };
    if (!this.#isReachable(claim, word, now)) return this.#unanswered(claim, word, now);
    const old = this.#view.get(claim.id);
    if (!old || !isNews) return GRANTED;
    if (old.card.address === claim.address) return this.#nextLife(old, claim, word, now);
    return this.#succession(old, claim, now);
  }

  /** Why nobody may be there under that name, whoever answers; null: nothing is known against it. */
  #objectionTo({ id, address, capacity }: Claim): string | null {
    if (this.#outbound.isConfigured({ id, address })) return null;
    if (address.startsWith('ipc:')) return `the config does not have it at ${address}`;
    const { configured } = this.#settings;
    const members = [...this.#view.members()].map(({ card }) => card);
    const holder = [this.#settings, ...configured, ...members].find(
      (other) => other.address === address && other.id !== id,
    );
    const inConfig = new Set(configured.map((peer) => peer.id));
    if (holder && !this.#isVacant(holder.id, inConfig)) {
      return `its address ${address} is that of ${holder.id}`;
    }
    if (inConfig.has(id)) return null;
    const { unconfigured: max, unconfiguredCapacity: capacityMax } = this.#settings.bounds;
    const others = members.filter((other) => other.id !== id && !inConfig.has(other.id));
    if (others.length >= max) return `${max} agents that are not in the config are members already`;
    const total = others.reduce((sum, other) => sum + other.capacity, capacity);
    if (total <= capacityMax) return null;
    return `agents that are not in the config would have a capacity of ${total} together`;
  }

  /**
   * Whether a member that the config does not have has fallen silent: another may have been started
   * where it was. It is asked there, and only one process can answer.
   */
  #isVacant(holder: AgentId, inConfig: ReadonlySet<AgentId>): boolean {
    return !inConfig.has(holder) && this.#view.get(holder)?.silent === true;
  }

  /** Whether the agent is known to be reached at its address; else it is asked there. */
  #isReachable(claim: Claim, word: Word, now: Instant): boolean {
    const { id, address } = claim;
    if (this.#outbound.isConfigured(claim)) return true;
    if (this.#view.get(id)?.card.address === address) return true;
    const { configured, leaseMs } = this.#settings;
    const isElsewhere = !this.#view.has(id) && configured.some((peer) => peer.id === id);
    // The agent at the address of the config has not had time yet to answer our HELLO.
    const isEarly = isElsewhere && now.mono - this.#startAt < leaseMs;
    const { since } = this.#ask(claim, word.vouched === true, now);
    // An agent that only the voucher reaches can be spoken to by relay. Before its join an agent does
    // not wait: it cannot ask hundreds of addresses in that time.
    const isVouched = word.vouched && (word.asked || now.mono - since >= leaseMs);
    if (!isEarly && (word.proof === this.#nonceOf(claim) || isVouched)) return true;
    this.#probe(claim, this.#nonceOf(claim), now);
    return false;
  }

  /** An agent that says so itself, and is not there, is named; of others it may be true elsewhere. */
  #unanswered({ id, address }: Claim, { by }: Word, now: Instant): Verdict {
    const since = this.#asked.get(id)?.since ?? now.mono;
    if (by !== id || now.mono - since < this.#settings.suspectAfterMs) return ASKED;
    return { code: 'asked', why: `nobody answers for it at ${address}` };
  }

  #ask({ id, inc, address }: Claim, isVouched: boolean, now: Instant): Asked {
    const known = this.#asked.get(id);
    const same = known?.inc === inc && known.address === address ? known : null;
    const vouched = isVouched || same?.vouched === true;
    const asked = { id, inc, address, since: same?.since ?? now.mono, at: now.mono, vouched };
    this.#asked.delete(id);
    // Claims that anybody can make do not push out those that an agent of the config vouches for.
    if (this.#asked.size >= this.#askedMax) {
      const all = [...this.#asked.values()];
      this.#asked.delete((all.find((one) => !one.vouched) ?? all[0]!).id);
    }
    this.#asked.set(id, asked);
    return asked;
  }

  /** The identifier is in view now. */
  settled(id: AgentId): void {
    this.#asked.delete(id);
  }

  /**
   * Whether a join is to wait: an agent that is not in view is said to be a member, and may yet prove
   * it. For `suspectAfterMs` after the start anybody may have said so, and for three times as long an
   * agent of the config.
   */
  isAsking(now: Instant): boolean {
    const { suspectAfterMs } = this.#settings;
    const forMs = now.mono - this.#startAt;
    const isWaitedFor = ({ at, vouched }: Asked) =>
      now.mono - at < suspectAfterMs && forMs < (vouched ? 3 : 1) * suspectAfterMs;
    return this.#asked.values().some(isWaitedFor);
  }

  /**
   * At the same address: a process that was reborn or restarted answers for its new life only. A claim
   * that the member has outlived is false, however long it is silent later: the next life has another.
   */
  #nextLife(old: Member, claim: Claim, { proof }: Word, now: Instant): Verdict {
    const { card, heardAt } = old;
    const patienceMs = unheardMs(this.#settings);
    if (proof === this.#nonceOf(claim)) return GRANTED;
    const { since } = this.#rivalOf(old, claim, now);
    if (heardAt - since > patienceMs) {
      return { code: 'refused', why: `${card.id} goes on as incarnation ${card.inc}` };
    }
    if (now.mono - Math.max(heardAt, since) >= patienceMs) return GRANTED;
    this.#probe(claim, this.#nonceOf(claim), now);
    return ASKED;
  }

  /**
   * At another address it is a second process, unless the member has ended. Taken in, the second would
   * draw all that is sent to the first, which would then believe that everybody else has died.
   */
  #succession(old: Member, claim: Claim, now: Instant): Verdict {
    const { card, heardAt } = old;
    const rival = this.#rivalOf(old, claim, now);
    // A heartbeat that was sent before the claim came is no denial.
    if (rival.denied || heardAt - rival.since > unheardMs(this.#settings)) {
      const why = `${card.id} runs at ${card.address}: stop that one, or this one at ${claim.address}`;
      return { code: 'refused', why };
    }
    // Its lease lasts as long as others pass on that it lives, and this agent echoes that.
    const lastNewsMs = this.#detector.lastNewsMs(card.id) ?? heardAt;
    if (now.mono - Math.max(heardAt, lastNewsMs, rival.since) >= this.#settings.leaseMs)
      return GRANTED;
    const nonce = this.#denialOf(old, rival);
    if (this.#isDue(nonce, now)) this.#outbound.toMember(old, this.#question(nonce));
    return ASKED;
  }

  #rivalOf(old: Member, { inc, address }: Claim, now: Instant): Rival {
    const { rival } = old;
    if (rival?.inc === inc && rival.address === address) return rival;
    // Claims that alternate must not put off the moment at which silence decides.
    const isSilent = rival && !rival.denied && old.heardAt <= rival.since;
    const since = isSilent ? rival.since : now.mono;
    old.rival = { inc, address, since, denied: false };
    return old.rival;
  }

  /** Whether a HELLO is the answer of a member to a rival's claim. */
  takeDenial(member: Member | undefined, inc: Incarnation, proof: string | undefined): boolean {
    if (!member?.rival || member.card.inc !== inc || proof === undefined) return false;
    if (proof !== this.#denialOf(member, member.rival)) return false;
    member.rival.denied = true;
    return true;
  }

  #nonceOf({ id, inc, address }: Claim): string {
    return this.#settings.digest(`${this.#settings.proofKey} ${id} ${inc} ${address}`);
  }

  #denialOf({ card }: Member, { inc, address, since }: Rival): string {
    const of = `${card.id} ${card.inc} ${card.address} ${inc} ${address} ${since}`;
    return this.#settings.digest(`${this.#settings.proofKey} ${of}`);
  }

  #probe(claim: Claim, nonce: string, now: Instant): void {
    if (!this.#isDue(nonce, now)) return;
    this.#outbound.toAddress(claim, this.#question(nonce));
  }

  #question(nonce: string): Message {
    const { address, fingerprintHash } = this.#settings;
    return { type: 'PROBE', nonce, fingerprintHash, address };
  }

  /**
   * Every member's heartbeat may repeat the claim, and one PROBE is enough for all of them. Each claim
   * to an address has a PROBE of its own, so that a false claim does not hold up the true one.
   */
  #isDue(nonce: string, now: Instant): boolean {
    const at = this.#probedAt.get(nonce) ?? -Infinity;
    if (now.mono - at < resendAfterMs(this.#settings)) return false;
    putLatest(this.#probedAt, nonce, now.mono, this.#askedMax);
    return true;
  }
}
