// Finds out whether all agents of the cluster are idle, without any agent that knows them all
// (docs/OVERLAY.md, completion). The agent with the smallest identifier in a subtree leads it. Leaders
// report to the leader of the next larger subtree, up to the leader of the whole key space. That one
// asks twice, in waves. If both waves find the same agents in the same idle periods, there was a
// moment between the waves at which all of them were idle, so the crawl was complete. The verdict goes
// down the same tree. Each leader knows which idle periods of its agents it covers.

import { bitAt, KEY_BITS, type Key } from '../../../assignment/identifiers.ts';
import type { IdleMessage, IdleState } from '../../core/membership/overlay.ts';
import type { AgentId, Covered, MemberCard, Message } from '../../core/protocol/messages.ts';
import {
  hasAny,
  hexOf,
  type IdentifiersOf,
  type Prefix,
  prefixOf,
  siblingOf,
} from '../routing/contact.ts';

type IdleTold = Extract<Message, { type: 'IDLE_TOLD' }>;
type IdleAsk = Extract<Message, { type: 'IDLE_ASK' }>;
type IdleDone = Extract<Message, { type: 'IDLE_DONE' }>;

/** A path of this agent, with all agents of its region. */
export interface LedPath {
  readonly key: Key;
  readonly length: number;
  /** The identifiers in the region, and the agents that have them, this one included. */
  readonly identifiers: readonly Key[];
  readonly agents: readonly AgentId[];
  /** The subtrees beside the path, for each level above the region. */
  readonly beside: readonly ('empty' | 'occupied' | 'doubtful')[];
  /** All agents beside the path at a level, if they are so few that they watch this agent. */
  readonly few: (level: number) => readonly AgentId[] | null;
}

export interface IdleTreeSettings {
  readonly identifiersOf: IdentifiersOf;
  /** Digest of a text, below 2^64. */
  readonly digest: (text: string) => bigint;
  /** The agent nearest to a key; null: it is being looked for. */
  readonly nearest: (key: Key) => MemberCard | null;
  /** The agent that was found does not lead the subtree. */
  readonly notThere: (key: Key) => void;
  /** Time after which reports are void and unanswered agents are looked for again. */
  readonly suspectAfterMs: number;
}

/** A subtree that this agent leads. */
interface Duty {
  readonly region: Prefix;
  readonly key: Key;
  /** The agents whose heartbeats this agent has. */
  readonly agents: readonly AgentId[];
  /** The levels at which the subtree beside the path reports to this agent. */
  readonly needs: readonly number[];
  /** Levels above the region of the path. */
  readonly levels: number;
  /** A key whose nearest agent leads the next larger subtree; null: this one leads the space. */
  readonly parentKey: Key | null;
}

interface Report {
  readonly card: MemberCard;
  readonly at: number;
  readonly wave: string;
  readonly idle: boolean;
  readonly sum: bigint;
}

/** A sample of a region for one wave: the numbers that the next heartbeats must exceed. */
interface Sample {
  readonly wave: string;
  readonly since: ReadonlyMap<AgentId, number>;
  /** Fixed when all agents have answered; null: not all have yet. */
  result: SampleResult | null;
}

interface SampleResult {
  readonly sum: bigint;
  /** The idle periods of the agents in this wave. */
  readonly idleSince: ReadonlyMap<AgentId, number>;
}

interface Send {
  readonly to: MemberCard;
  readonly message: IdleAsk | IdleTold | IdleDone;
}

/** A parent to which this agent reports. */
interface Parent {
  readonly id: AgentId;
  /** Since when it has not answered; null: it has. */
  since: number | null;
}

const SUM_BITS = 64;

export class IdleTree {
  readonly #s: IdleTreeSettings;
  /** The subtrees that must report to this agent: at most one for each level of its paths. */
  #expected: ReadonlySet<string> = new Set();
  /** By expected subtree: the last report. Filled by `onTold`, emptied when it is too old. */
  readonly #reports = new Map<string, Report>();
  /** By subtree that this agent leads: the wave that its parent asks for, and when. */
  readonly #asked = new Map<string, { wave: string; at: number }>();
  readonly #samples = new Map<string, Sample>();
  /** By subtree that this agent leads: to whom it has reported. */
  readonly #parents = new Map<string, Parent>();
  /** The waves of the leader of the whole space. */
  #wave = 0;
  #waveAt = 0;
  #lastSum: bigint | null = null;
  /** By subtree that this agent leads: the wave of the verdict. */
  readonly #verdicts = new Map<string, string>();
  /** By subtree of another leader: the wave of the verdict that it has. */
  readonly #told = new Map<string, string>();
  #isComplete = false;
  /** False: a subtree has reported to this agent, and does not have the verdict yet. */
  hasToldVerdict = true;

  constructor(settings: IdleTreeSettings) {
    this.#s = settings;
  }

  reset(): void {
    this.#reports.clear();
    this.#asked.clear();
    this.#samples.clear();
    this.#parents.clear();
    this.#expected = new Set();
    this.#endWaves();
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
      const idleSince = this.#samples.get(name)?.result?.idleSince.get(id);
      if (idleSince !== undefined) return { idleSince, wave };
    }
    return null;
  }

  /** Returns the answer, if there is one. */
  onMessage(from: MemberCard, message: IdleMessage, now: number): Message | null {
    switch (message.type) {
      case 'IDLE_TOLD':
        return this.onTold(from, message, now);
      case 'IDLE_ASK':
        this.onAsk(from, message, now);
        return null;
      case 'IDLE_DONE':
        return this.onDone(from, message);
    }
  }

  /**
   * Returns the answer, which shows that the report has arrived. Without one the sender looks for
   * another parent: this agent does not lead the next larger subtree, or not any more.
   */
  onTold(
    card: MemberCard,
    { key, length, wave, idle, sum }: IdleTold,
    now: number,
  ): IdleAsk | null {
    const region = prefixOf(BigInt(`0x${key}`), length);
    const name = nameOf(region);
    if (!this.#expected.has(name)) return null;
    // Only an agent of the subtree can lead it.
    if (!hasAny(this.#s.identifiersOf(card), region)) return null;
    this.#reports.set(name, { card, at: now, wave, idle, sum: BigInt(`0x${sum}`) });
    return { type: 'IDLE_ASK', key, length, wave: '' };
  }

  /** Only the agent to which this one has reported may ask. */
  onAsk({ id }: Pick<MemberCard, 'id'>, { key, length, wave }: IdleAsk, now: number): void {
    const name = nameOf(prefixOf(BigInt(`0x${key}`), length));
    const parent = this.#parents.get(name);
    if (parent?.id !== id) return;
    parent.since = null;
    if (wave !== '') this.#asked.set(name, { wave, at: now });
  }

  /** The verdict from the leader of the next larger subtree, or the answer of a smaller one's. */
  onDone({ id }: Pick<MemberCard, 'id'>, message: IdleDone): IdleDone | null {
    const { wave } = message;
    const name = nameOf(prefixOf(BigInt(`0x${message.key}`), message.length));
    if (this.#parents.get(name)?.id !== id) {
      if (this.#reports.get(name)?.card.id === id) this.#told.set(name, wave);
      return null;
    }
    const sample = this.#samples.get(name);
    if (sample?.wave !== wave || sample.result === null) return null;
    this.#verdicts.set(name, wave);
    return message;
  }

  /** Called with each heartbeat. `stateOf` gives null for an agent without a heartbeat. */
  survey(
    me: IdleState,
    paths: readonly LedPath[],
    stateOf: (id: AgentId) => IdleState | null,
    now: number,
  ): Send[] {
    this.#forgetOld(now);
    const states = (id: AgentId) => (id === me.id ? me : stateOf(id));
    const sends: Send[] = [];
    const duties = paths.flatMap((path) => dutyOf(path) ?? []);
    this.#expected = new Set(
      duties.flatMap(({ key, needs }) => needs.map((level) => nameOf(siblingOf(key, level)))),
    );
    for (const name of this.#reports.keys()) {
      if (!this.#expected.has(name)) this.#reports.delete(name);
    }
    const led = new Set(duties.map(({ region }) => nameOf(region)));
    for (const name of this.#parents.keys()) if (!led.has(name)) this.#parents.delete(name);
    for (const duty of duties) {
      if (duty.parentKey === null) sends.push(...this.#lead(duty, states, me, now));
      else sends.push(...this.#report(duty, duty.parentKey, states, now));
    }
    if (!duties.some(({ parentKey }) => parentKey === null)) this.#endWaves();
    sends.push(...this.#tellVerdict(duties, me));
    return sends.filter((send) => !this.#isToMe(send, me.id, now));
  }

  /** This agent may lead a subtree and the larger one to whose leader it reports. */
  #isToMe({ to, message }: Send, me: AgentId, now: number): boolean {
    if (to.id !== me) return false;
    if (message.type === 'IDLE_DONE') {
      const name = nameOf({ bits: BigInt(`0x${message.key}`), length: message.length });
      if (this.onDone(to, message)) this.#told.set(name, message.wave);
      return true;
    }
    const ask = message.type === 'IDLE_ASK' ? message : this.onTold(to, message, now);
    if (ask) this.onAsk(to, ask, now);
    return true;
  }

  /** Tells the verdict to the leaders that reported to this agent, until they have answered. */
  #tellVerdict(duties: readonly Duty[], me: IdleState): Send[] {
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
        const message: IdleDone = { type: 'IDLE_DONE', key: hexOf(bits), length, wave };
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
    stateOf: (id: AgentId) => IdleState | null,
    me: IdleState,
    now: number,
  ): Send[] {
    if (!this.#isIdle(duty, stateOf)) {
      this.#endWaves();
      return [];
    }
    const wave = `${me.id}.${me.inc}/${this.#wave}`;
    // The agents are told of this wave until this one has other work.
    if (this.#verdicts.has(nameOf(duty.region))) return [];
    const { sends, sum } = this.#gather(duty, wave, stateOf);
    if (sum !== null) {
      this.#waveAt = now;
      if (this.#wave > 0 && sum === this.#lastSum) {
        this.#verdicts.set(nameOf(duty.region), wave);
        return [];
      }
      this.#lastSum = sum;
      this.#wave++;
    } else if (now - this.#waveAt >= waveMsMax(duty, this.#s.suspectAfterMs)) this.#endWaves(now);
    return sends;
  }

  #endWaves(now = 0): void {
    this.#lastSum = null;
    this.#wave++;
    this.#waveAt = now;
  }

  /** Reports to the leader of the next larger subtree. */
  #report(
    duty: Duty,
    parentKey: Key,
    stateOf: (id: AgentId) => IdleState | null,
    now: number,
  ): Send[] {
    if (!this.#isIdle(duty, stateOf)) return [];
    const parent = this.#s.nearest(parentKey);
    if (!parent) return [];
    const name = nameOf(duty.region);
    this.#awaitAnswer(name, parent.id, parentKey, now);
    const wave = this.#asked.get(name)?.wave ?? '';
    const { sends, sum } =
      wave === '' ? { sends: [], sum: null } : this.#gather(duty, wave, stateOf);
    const { bits, length } = duty.region;
    const told: IdleTold = {
      ...{ type: 'IDLE_TOLD', key: hexOf(bits), length, idle: true },
      ...{ wave: sum === null ? '' : wave, sum: hexOf(sum ?? 0n, SUM_BITS) },
    };
    return [...sends, { to: parent, message: told }];
  }

  #awaitAnswer(name: string, id: AgentId, parentKey: Key, now: number): void {
    const known = this.#parents.get(name);
    const parent = known?.id === id ? known : { id, since: now };
    parent.since ??= now;
    this.#parents.set(name, parent);
    if (now - parent.since < this.#s.suspectAfterMs) return;
    this.#parents.delete(name);
    this.#s.notThere(parentKey);
  }

  /** Whether all that is known of the subtree now is idle. */
  #isIdle({ key, agents, needs }: Duty, stateOf: (id: AgentId) => IdleState | null): boolean {
    if (!agents.every((id) => stateOf(id)?.idle)) return false;
    return needs.every((level) => this.#reports.get(nameOf(siblingOf(key, level)))?.idle);
  }

  /** Asks the subtrees for a wave, and samples the region; the sum is null until all have answered. */
  #gather(
    duty: Duty,
    wave: string,
    stateOf: (id: AgentId) => IdleState | null,
  ): { sends: Send[]; sum: bigint | null } {
    const sends: Send[] = [];
    let sum = this.#sampled(duty, wave, stateOf);
    for (const level of duty.needs) {
      const region = siblingOf(duty.key, level);
      const report = this.#reports.get(nameOf(region));
      if (!report) return { sends, sum: null };
      if (report.wave === wave) {
        if (sum !== null) sum = BigInt.asUintN(SUM_BITS, sum + report.sum);
        continue;
      }
      sum = null;
      const { length } = region;
      const key = hexOf(region.bits);
      sends.push({ to: report.card, message: { type: 'IDLE_ASK', key, length, wave } });
    }
    return { sends, sum };
  }

  /** The sum over the region's agents, from heartbeats that were sent after the wave had begun. */
  #sampled(
    { region, agents }: Duty,
    wave: string,
    stateOf: (id: AgentId) => IdleState | null,
  ): bigint | null {
    const name = nameOf(region);
    const sample = this.#samples.get(name);
    if (sample?.wave !== wave) {
      const since = new Map(agents.map((id) => [id, stateOf(id)?.counter ?? 0]));
      this.#samples.set(name, { wave, since, result: null });
      return null;
    }
    // A later idle period of an agent belongs to a later wave.
    if (sample.result) return sample.result.sum;
    const idleSince = new Map<AgentId, number>();
    let sum = 0n;
    for (const id of agents) {
      const state = stateOf(id);
      const since = sample.since.get(id);
      // The next heartbeat may have been on its way when the wave began.
      if (!state?.idle || since === undefined || state.counter < since + 2) return null;
      sum += this.#s.digest(`${id}.${state.inc} ${state.idleSince}`);
      idleSince.set(id, state.idleSince);
    }
    sample.result = { sum: BigInt.asUintN(SUM_BITS, sum), idleSince };
    return sample.result.sum;
  }
}

/**
 * A wave that was answered nowhere for so long is void: an agent that was sampled has gone. It needs
 * up to three heartbeats for each level, down and up, and the subtrees are about equally deep.
 */
function waveMsMax({ levels }: Duty, suspectAfterMs: number): number {
  return (4 + levels) * suspectAfterMs;
}

/** The subtree that the path's identifier leads; null: another agent leads its region. */
function dutyOf(path: LedPath): Duty | null {
  const { key, length, identifiers, beside } = path;
  if (length === KEY_BITS || identifiers.some((other) => other < key)) return null;
  const needs: number[] = [];
  const agents = new Set(path.agents);
  for (let level = length - 1; level >= 0; level--) {
    if (beside[level] === 'empty') continue;
    if (beside[level] === 'doubtful') return null;
    const few = path.few(level);
    if (bitAt(key, level) === 0) {
      if (few) for (const id of few) agents.add(id);
      else needs.push(level);
      continue;
    }
    // The agents beside the path have this region in theirs.
    if (few) return null;
    const parentKey = siblingOf(key, level).bits;
    const region = prefixOf(key, level + 1);
    return { region, key, agents: [...agents], needs, levels: length, parentKey };
  }
  const region = prefixOf(key, 0);
  return { region, key, agents: [...agents], needs, levels: length, parentKey: null };
}

function nameOf({ bits, length }: Prefix): string {
  return `${hexOf(bits)}/${length}`;
}
