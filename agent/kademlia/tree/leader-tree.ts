// Asks all agents of the cluster, without any agent that knows them all (docs/OVERLAY.md). The agent
// with the smallest identifier in a subtree leads it. Leaders report to the leader of the next larger
// subtree, up to the leader of the whole key space. That one asks twice, in waves. If both waves find
// the same agents in the same idle periods, there was a moment between the waves at which all of them
// were idle, so the crawl was complete. The verdict goes down the same tree. Each leader knows which
// idle periods of its agents it covers. Page counts are valid if both waves find the same agents with
// the same views and no host being handed over.

import type { Key } from '../../../assignment/identifiers.ts';
import type { AgentState, PageCount, Tree, TreeMessage } from '../../core/membership/overlay.ts';
import type { AgentId, Covered, MemberCard, Message } from '../../core/protocol/messages.ts';
import {
  distanceTo,
  hasAny,
  hexOf,
  type IdentifiersOf,
  type Prefix,
  prefixOf,
  siblingOf,
} from '../routing/contact.ts';
import { type Duty, dutyOf, type LedPath, nameOf } from './duties.ts';
import { DIGEST_BITS, epochOf, pagesWave, plus, Samples, type Sum } from './samples.ts';

type TreeTold = Extract<Message, { type: 'TREE_TOLD' }>;
type TreeAsk = Extract<Message, { type: 'TREE_ASK' }>;
type TreeDone = Extract<Message, { type: 'TREE_DONE' }>;

/**
 * Reports of a leader that is not idle, in the time after which a report is void. With them it finds
 * out before the end of the crawl that the parent to which it reports has gone.
 */
const BUSY_REPORTS = 3;

export interface LeaderTreeSettings {
  readonly paths: () => readonly LedPath[];
  readonly identifiersOf: IdentifiersOf;
  /** Digest of a text, below 2^64. */
  readonly digest: (text: string) => bigint;
  /** The agent nearest to a key; null: it is being looked for. */
  readonly nearest: (key: Key) => MemberCard | null;
  /** The agent that was found does not lead the subtree. */
  readonly notThere: (key: Key) => void;
  /** Whether agents that are not idle are counted, too: there is a page limit. */
  readonly countsPages: boolean;
  /** Time after which reports are void and unanswered agents are looked for again. */
  readonly suspectAfterMs: number;
}

interface Report {
  readonly card: MemberCard;
  readonly at: number;
  readonly wave: string;
  readonly idle: boolean;
  readonly sum: Sum;
}

interface Send {
  readonly to: MemberCard;
  readonly message: TreeAsk | TreeTold | TreeDone;
}

/** A parent to which this agent reports. */
interface Parent {
  readonly id: AgentId;
  toldAt: number;
  /** Since when it has not answered; null: it has. */
  since: number | null;
}

export class LeaderTree implements Tree {
  readonly #s: LeaderTreeSettings;
  /** The subtrees that must report to this agent: at most one for each level of its paths. */
  #expected: ReadonlySet<string> = new Set();
  /** By expected subtree: the last report. Filled by `onTold`, emptied when it is too old. */
  readonly #reports = new Map<string, Report>();
  /** By expected subtree: the wave for which this agent asks it now. */
  readonly #wanted = new Map<string, string>();
  /** By expected subtree: when its leader was last looked for again. */
  readonly #soughtAt = new Map<string, number>();
  /** By subtree that this agent leads: the wave that its parent asks for, and when. */
  readonly #asked = new Map<string, { wave: string; at: number }>();
  readonly #samples: Samples;
  /** By subtree that this agent leads: to whom it has reported. */
  readonly #parents = new Map<string, Parent>();
  /** The waves of the leader of the whole space. */
  #wave = 0;
  #waveAt = 0;
  /** What the waves ask for; null: the agents are not idle, and nobody counts pages. */
  #question: string | null = null;
  #lastDigest: bigint | null = null;
  /** The epoch whose census this agent leads; set again before each survey. */
  #census: string | null = null;
  #counted: (PageCount & { readonly epoch: string }) | null = null;
  /** By subtree that this agent leads: the wave of the verdict. */
  readonly #verdicts = new Map<string, string>();
  /** By subtree of another leader: the wave of the verdict that it has. */
  readonly #told = new Map<string, string>();
  #isComplete = false;
  /** False: a subtree has reported to this agent, and does not have the verdict yet. */
  hasToldVerdict = true;

  askedEpoch: string | null = null;

  constructor(settings: LeaderTreeSettings) {
    this.#s = settings;
    const { digest, identifiersOf } = settings;
    // It does not depend on the capacity.
    const placeOf = (id: AgentId) => identifiersOf({ id, capacity: 1 })[0]!;
    this.#samples = new Samples(digest, placeOf);
  }

  reset(): void {
    this.#reports.clear();
    this.#wanted.clear();
    this.#soughtAt.clear();
    this.#asked.clear();
    this.#samples.clear();
    this.#parents.clear();
    this.#expected = new Set();
    this.#ask(null, 0);
    this.#counted = null;
    this.askedEpoch = null;
    this.isComplete = false;
  }

  /** All agents were idle at once, and this one still is. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** False: this agent has new work, so the verdict ends no other agent any more. */
  set isComplete(is: boolean) {
    this.#isComplete = is;
    if (is) return;
    this.#verdicts.clear();
    this.#told.clear();
  }

  /** The idle period of an agent that the verdict covers; null: none. */
  verdictFor(id: AgentId): Covered | null {
    for (const [name, wave] of this.#verdicts) {
      const idleSince = this.#samples.resultOf(name, wave)?.idleSince.get(id);
      if (idleSince !== undefined) return { idleSince, wave };
    }
    return null;
  }

  /** Returns the answer, if there is one. */
  onMessage(from: MemberCard, message: TreeMessage, now: number): Message | null {
    switch (message.type) {
      case 'TREE_TOLD':
        return this.onTold(from, message, now);
      case 'TREE_ASK':
        this.onAsk(from, message, now);
        return null;
      case 'TREE_DONE':
        return this.onDone(from, message);
    }
  }

  /**
   * Returns the answer, which shows that the report has arrived, and whether its wave lasts. Without
   * one the sender looks for another parent: this agent does not lead the next larger subtree, or not
   * any more.
   */
  onTold(
    card: MemberCard,
    { key, length, wave, idle, sum, base = 0, pages = 0 }: TreeTold,
    now: number,
  ): TreeAsk | null {
    const region = prefixOf(BigInt(`0x${key}`), length);
    const name = nameOf(region);
    if (!this.#expected.has(name)) return null;
    // Only an agent of the subtree can lead it.
    if (!hasAny(this.#s.identifiersOf(card), region)) return null;
    if (!this.#isLeader(card, region, now)) return null;
    const found = { digest: BigInt(`0x${sum}`), base, pages };
    this.#reports.set(name, { card, at: now, wave, idle, sum: found });
    const lasts = this.#wanted.get(name) === wave;
    return { type: 'TREE_ASK', key, length, wave: lasts ? wave : '' };
  }

  /**
   * Whether no other agent is known to be nearer to the first key of the subtree: one that reports,
   * or one that a look-up has found.
   */
  #isLeader(card: MemberCard, { bits, length }: Prefix, now: number): boolean {
    const name = nameOf({ bits, length });
    const distanceOf = (one: MemberCard) => distanceTo(bits, this.#s.identifiersOf(one));
    const reporter = this.#reports.get(name)?.card;
    if (reporter && distanceOf(reporter) < distanceOf(card)) return false;
    const nearest = this.#s.nearest(bits);
    if (nearest && distanceOf(card) <= distanceOf(nearest)) return true;
    if (nearest && now - (this.#soughtAt.get(name) ?? -Infinity) >= this.#s.suspectAfterMs) {
      // That agent may be gone.
      this.#soughtAt.set(name, now);
      this.#s.notThere(bits);
    }
    return reporter?.id === card.id;
  }

  /** Only the agent to which this one has reported may ask. */
  onAsk({ id }: Pick<MemberCard, 'id'>, { key, length, wave }: TreeAsk, now: number): void {
    const name = nameOf(prefixOf(BigInt(`0x${key}`), length));
    const parent = this.#parents.get(name);
    if (parent?.id !== id) return;
    parent.since = null;
    if (wave === '') return;
    this.#asked.set(name, { wave, at: now });
    this.askedEpoch = epochOf(wave) ?? this.askedEpoch;
  }

  /** The verdict from the leader of the next larger subtree, or the answer of a smaller one's. */
  onDone({ id }: Pick<MemberCard, 'id'>, message: TreeDone): TreeDone | null {
    const { wave } = message;
    const name = nameOf(prefixOf(BigInt(`0x${message.key}`), message.length));
    if (this.#parents.get(name)?.id !== id) {
      if (this.#reports.get(name)?.card.id === id) this.#told.set(name, wave);
      return null;
    }
    if (!this.#samples.resultOf(name, wave)) return null;
    this.#verdicts.set(name, wave);
    return message;
  }

  /** Continues the census of an epoch, as the leader of the whole space; null: not complete. */
  census(epoch: string): PageCount | null {
    const counted = this.#counted;
    this.#counted = null;
    if (counted?.epoch === epoch) return counted;
    this.#census = epoch;
    return null;
  }

  /** Called with each heartbeat. `stateOf` gives null for an agent without a heartbeat. */
  survey(me: AgentState, stateOf: (id: AgentId) => AgentState | null, now: number): Send[] {
    this.#forgetOld(now);
    this.#wanted.clear();
    const states = (id: AgentId) => (id === me.id ? me : stateOf(id));
    const sends: Send[] = [];
    const duties = this.#s.paths().flatMap((path) => dutyOf(path) ?? []);
    this.#expected = new Set(
      duties.flatMap(({ key, needs }) => needs.map((level) => nameOf(siblingOf(key, level)))),
    );
    for (const known of [this.#reports, this.#soughtAt]) {
      for (const name of known.keys()) if (!this.#expected.has(name)) known.delete(name);
    }
    const led = new Set(duties.map(({ region }) => nameOf(region)));
    for (const name of this.#parents.keys()) if (!led.has(name)) this.#parents.delete(name);
    for (const duty of duties) {
      if (duty.parentKey === null) sends.push(...this.#lead(duty, states, me, now));
      else sends.push(...this.#report(duty, duty.parentKey, states, now));
    }
    if (!duties.some(({ parentKey }) => parentKey === null)) this.#ask(null, now);
    this.#census = null;
    sends.push(...this.#tellVerdict(duties, me));
    return sends.filter((send) => !this.#isToMe(send, me.id, now));
  }

  /** This agent may lead a subtree and the larger one to whose leader it reports. */
  #isToMe({ to, message }: Send, me: AgentId, now: number): boolean {
    if (to.id !== me) return false;
    if (message.type === 'TREE_DONE') {
      const name = nameOf({ bits: BigInt(`0x${message.key}`), length: message.length });
      if (this.onDone(to, message)) this.#told.set(name, message.wave);
      return true;
    }
    const ask = message.type === 'TREE_ASK' ? message : this.onTold(to, message, now);
    if (ask) this.onAsk(to, ask, now);
    return true;
  }

  /** Tells the verdict to the leaders that reported to this agent, until they have answered. */
  #tellVerdict(duties: readonly Duty[], me: AgentState): Send[] {
    const sends: Send[] = [];
    this.hasToldVerdict = true;
    for (const { region, key, needs } of duties) {
      const wave = this.#verdicts.get(nameOf(region));
      if (wave !== undefined && this.verdictFor(me.id)?.idleSince === me.idleSince)
        this.#isComplete = true;
      for (const level of needs) {
        const { bits, length } = siblingOf(key, level);
        const report = this.#reports.get(nameOf({ bits, length }));
        if (!report || (wave && this.#told.get(nameOf({ bits, length })) === wave)) continue;
        this.hasToldVerdict = false;
        if (wave === undefined) continue;
        const message: TreeDone = { type: 'TREE_DONE', key: hexOf(bits), length, wave };
        sends.push({ to: report.card, message });
      }
    }
    return sends;
  }

  #forgetOld(now: number): void {
    const { suspectAfterMs } = this.#s;
    for (const [name, { at }] of this.#reports) {
      if (now - at >= suspectAfterMs) this.#reports.delete(name);
    }
    for (const [name, { at }] of this.#asked) {
      if (now - at < suspectAfterMs || this.#verdicts.has(name)) continue;
      this.#asked.delete(name);
      this.#samples.delete(name);
    }
  }

  /** The leader of the whole space begins the next wave when the last one is complete. */
  #lead(
    duty: Duty,
    stateOf: (id: AgentId) => AgentState | null,
    me: AgentState,
    now: number,
  ): Send[] {
    const isIdle = this.#isIdle(duty, stateOf);
    const epoch = isIdle ? null : this.#census;
    this.#ask(isIdle ? `${me.id}.${me.inc}` : epoch, now);
    if (this.#question === null) return [];
    // The agents are told of the verdict until this one has other work.
    if (this.#verdicts.has(nameOf(duty.region))) return [];
    const wave = epoch === null ? `${this.#question}/${this.#wave}` : pagesWave(epoch, this.#wave);
    const { sends, sum } = this.#gather(duty, wave, stateOf);
    if (sum === null) {
      if (now - this.#waveAt >= waveMsMax(duty, this.#s.suspectAfterMs)) this.#nextWave(null, now);
      return sends;
    }
    const isSame = sum.digest === this.#lastDigest;
    this.#nextWave(sum.digest, now);
    if (!isSame) return sends;
    if (epoch === null) this.#verdicts.set(nameOf(duty.region), wave);
    else {
      this.#counted = { epoch, base: sum.base, pages: sum.pages };
      this.#lastDigest = null;
    }
    return [];
  }

  #ask(question: string | null, now: number): void {
    if (question === this.#question) return;
    this.#question = question;
    this.#nextWave(null, now);
  }

  /** @param digest - of the wave before, if the next one may confirm it */
  #nextWave(digest: bigint | null, now: number): void {
    this.#lastDigest = digest;
    this.#wave++;
    this.#waveAt = now;
  }

  /** Reports to the leader of the next larger subtree. */
  #report(
    duty: Duty,
    parentKey: Key,
    stateOf: (id: AgentId) => AgentState | null,
    now: number,
  ): Send[] {
    const idle = this.#isIdle(duty, stateOf);
    const name = nameOf(duty.region);
    if (!idle && !this.#s.countsPages) {
      const toldAt = this.#parents.get(name)?.toldAt ?? -Infinity;
      if (now - toldAt < this.#s.suspectAfterMs / BUSY_REPORTS) return [];
    }
    const parent = this.#s.nearest(parentKey);
    if (!parent) return [];
    this.#awaitAnswer(name, parent.id, parentKey, now);
    const wave = this.#asked.get(name)?.wave ?? '';
    const { sends, sum } =
      wave === '' ? { sends: [], sum: null } : this.#gather(duty, wave, stateOf);
    const { bits, length } = duty.region;
    const told: TreeTold = {
      ...{ type: 'TREE_TOLD', key: hexOf(bits), length, idle },
      ...{ wave: sum === null ? '' : wave, sum: hexOf(sum?.digest ?? 0n, DIGEST_BITS) },
      ...(sum && sum.base !== 0 && { base: sum.base }),
      ...(sum && sum.pages !== 0 && { pages: sum.pages }),
    };
    return [...sends, { to: parent, message: told }];
  }

  #awaitAnswer(name: string, id: AgentId, parentKey: Key, now: number): void {
    const known = this.#parents.get(name);
    const parent = known?.id === id ? known : { id, toldAt: now, since: now };
    parent.toldAt = now;
    parent.since ??= now;
    this.#parents.set(name, parent);
    if (now - parent.since < this.#s.suspectAfterMs) return;
    this.#parents.delete(name);
    this.#s.notThere(parentKey);
  }

  /** Whether all that is known of the subtree now is idle. */
  #isIdle({ key, agents, needs }: Duty, stateOf: (id: AgentId) => AgentState | null): boolean {
    if (!agents.every((id) => stateOf(id)?.idle)) return false;
    return needs.every((level) => this.#reports.get(nameOf(siblingOf(key, level)))?.idle);
  }

  /** Asks the subtrees for a wave, and samples the region; the sum is null until all have answered. */
  #gather(
    duty: Duty,
    wave: string,
    stateOf: (id: AgentId) => AgentState | null,
  ): { sends: Send[]; sum: Sum | null } {
    const sends: Send[] = [];
    let sum = this.#samples.take(duty, wave, stateOf);
    for (const level of duty.needs) {
      const region = siblingOf(duty.key, level);
      const report = this.#reports.get(nameOf(region));
      if (!report) return { sends, sum: null };
      this.#wanted.set(nameOf(region), wave);
      if (report.wave === wave) {
        if (sum !== null) sum = plus(sum, report.sum);
        continue;
      }
      sum = null;
      const { length } = region;
      const key = hexOf(region.bits);
      sends.push({ to: report.card, message: { type: 'TREE_ASK', key, length, wave } });
    }
    return { sends, sum };
  }
}

/**
 * A wave that was answered nowhere for so long is void: an agent that was sampled has gone. It needs
 * up to three heartbeats for each level, down and up, and the subtrees are about equally deep.
 */
function waveMsMax({ levels }: Duty, suspectAfterMs: number): number {
  return (4 + levels) * suspectAfterMs;
}
