// Brings a command to all agents of a cluster whose agents know only some of the others. One agent
// that answers forwards the command to the agents that it knows; their answers name further agents,
// which are next, until nobody new is named. An agent that another names as its member, and that
// does not answer itself, is unreachable. A contact that does not answer may have left long ago, and
// does not count. An answer is checked, and the number of names and the time are limited: any agent
// may be hostile.

import type { WalkStep } from '../../control/control.ts';
import type { ControlVerb, MemberCard } from '../../core/protocol/messages.ts';
import { isRecord } from '../../messaging/checks/shape.ts';
import { cardsOf } from '../../messaging/checks/walk-checks.ts';
import { directiveOf } from '../../messaging/control-directives.ts';
import { isListening } from '../../messaging/listener.ts';
import { AHEAD_MS_MAX } from '../../monitor/start-clock.ts';
import { monotonicMs, wallMs } from '../../runtime/clock.ts';
import { type Asked, askInTurn } from './ask.ts';
import { printable, say } from './output.ts';

/** Agents of one step: the answers fit into one message. */
const STEP_AGENTS = 32;
/** Agents that may be silent, in addition to as many as have answered: each step takes 1.5 s. */
const SILENT_MAX = 512;
/** Names of agents, with their incarnations. */
const NAMES_MAX = 65_536;
/** More than 3,000 agents need if one of each step is silent. */
const WALK_MS_MAX = 180_000;

export interface Errand {
  readonly verb: ControlVerb;
  readonly args: readonly string[];
  /** The agents that it concerns; absent: all. */
  readonly only?: readonly string[];
  /** Whether an agent's result has the right shape; absent: any has. */
  readonly isReadable?: (result: unknown, id: string) => boolean;
}

/** Tests replace them. */
interface WalkPorts {
  readonly ask: typeof askInTurn;
  readonly now: () => number;
  readonly say: (text: string) => void;
}

const PORTS: WalkPorts = { ask: askInTurn, now: monotonicMs, say };
const LOOK: Errand = { verb: 'status', args: [] };

export interface Walked {
  /** By agent. */
  readonly results: ReadonlyMap<string, unknown>;
  /** The agents that answered, also those that the command does not concern. */
  readonly visited: ReadonlyMap<string, MemberCard>;
  /** Members that did not answer. */
  readonly unreachable: readonly string[];
  /** Agents whose results have a wrong shape. */
  readonly unreadable: readonly string[];
  /** The agents that answered, in groups that know nobody of each other. */
  readonly groups: readonly (readonly string[])[];
  /** The first response of each agent that forwarded the command. */
  readonly begins: readonly WalkStep[];
  /** Why no agent forwarded the command, or an agent of the config did not answer. */
  readonly failures: readonly string[];
  /** An agent has refused the command. */
  readonly isRefused: boolean;
}

/** @throws Refusal if no agent answers and one belongs to another crawl */
export async function walk(whom: Asked, errand: Errand, ports = PORTS): Promise<Walked> {
  const course = new Course(whom, errand, ports);
  let refused: unknown = null;
  for (const { id, address } of whom.agents) {
    if (course.isFinished && !(await course.isNew(id, address))) continue;
    try {
      await course.through(id);
    } catch (error) {
      refused ??= error;
    }
  }
  if (course.visited.size === 0 && refused !== null) throw refused;
  for (const id of course.unreadable) ports.say(printable(`unreadable answer of ${id}`));
  if (course.isCut) ports.say('not all agents that others name were asked: too many do not answer');
  const { unreachable, begins, failures, groups, isRefused } = course;
  const [results, visited] = [sorted(course.results), sorted(course.visited)];
  const unreadable = [...course.unreadable];
  return { results, visited, unreachable, unreadable, groups, begins, failures, isRefused };
}

/** By identifier, a2 before a10. */
function sorted<T>(map: ReadonlyMap<string, T>): ReadonlyMap<string, T> {
  return new Map([...map].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true })));
}

class Course {
  readonly results = new Map<string, unknown>();
  readonly visited = new Map<string, MemberCard>();
  readonly begins: WalkStep[] = [];
  readonly failures: string[] = [];
  isRefused = false;
  /** An agent has forwarded the command until nobody new was named. */
  isFinished = false;
  readonly groups: string[][] = [];
  /** The agents that were named since the last group was found. */
  #named = new Set<string>();
  /** Some agents were not asked, because there were too many names or the time was over. */
  isCut = false;
  /** Agents whose results have a wrong shape. */
  readonly unreadable = new Set<string>();
  readonly #whom: Asked;
  readonly #ports: WalkPorts;
  readonly #startedAt: number;
  #errand: Errand;
  /** All agents that were named, and those of them that an agent has in view. */
  readonly #cards = new Map<string, MemberCard>();
  readonly #members = new Set<string>();

  constructor(whom: Asked, errand: Errand, ports: WalkPorts) {
    this.#whom = whom;
    this.#errand = errand;
    this.#ports = ports;
    this.#startedAt = ports.now();
  }

  get unreachable(): readonly string[] {
    return [...this.#members].filter((id) => !this.visited.has(id));
  }

  /** Whether this may be a running agent that was not asked yet. A contact is named by its address. */
  async isNew(id: string, address: string): Promise<boolean> {
    if (id !== address) return !this.visited.has(id);
    const isVisited = [...this.visited.values()].some((card) => card.address === address);
    return !isVisited && (await isListening(address));
  }

  /** Asks all agents that were not asked yet through the agent `entry`, and this agent at last. */
  async through(entry: string): Promise<void> {
    const begin = await this.#step(entry, LOOK, []);
    if (!begin) return;
    this.begins.push(begin);
    const { me } = begin;
    if (!(await this.#numbered(entry, me))) return;
    const asked = new Set([nameOf(me)]);
    for (;;) {
      const batch = this.#next(asked);
      if (batch.length === 0) break;
      for (const card of batch) asked.add(nameOf(card));
      if (!(await this.#bringParts(entry, batch))) return;
    }
    // At last: an agent that stops forwards nothing any more.
    this.isFinished = this.visited.has(me.id) || (await this.#bring(entry, [me]));
    if (this.isFinished) this.#group();
  }

  /** Adds the agents that have answered since the last call to the groups that they have named. */
  #group(): void {
    const known = this.groups.flat();
    const found = [...this.visited.keys()].filter((id) => !known.includes(id));
    const named = this.groups.filter((group) => group.some((id) => this.#named.has(id)));
    const others = this.groups.filter((group) => !named.includes(group));
    const group = [...named.flat(), ...found].sort();
    this.groups.splice(0, Infinity, ...others, ...(group.length > 0 ? [group] : []));
    this.#named = new Set();
  }

  /** Has a directive numbered by the first agent; the others get it as this agent numbered it. */
  async #numbered(entry: string, me: MemberCard): Promise<boolean> {
    const { verb, args } = this.#errand;
    if (typeof directiveOf(verb, args) === 'string') return true;
    const step = await this.#step(entry, this.#errand, [me]);
    if (step?.order === undefined) return false;
    this.#errand = { ...this.#errand, verb: 'order', args: [step.order] };
    return true;
  }

  /** Members come first: they answer, while a contact that is gone costs the time of an answer. */
  #next(asked: ReadonlySet<string>): MemberCard[] {
    const { only } = this.#errand;
    if (only?.every((id) => this.visited.has(id))) return [];
    const left = [...this.#cards.values()].filter((card) => {
      return !this.visited.has(card.id) && !asked.has(nameOf(card));
    });
    const spentMs = this.#ports.now() - this.#startedAt;
    const silent = asked.size - this.visited.size;
    this.isCut =
      left.length > 0 && (spentMs > WALK_MS_MAX || silent > SILENT_MAX + this.visited.size);
    if (this.isCut) return [];
    const members = left.filter(({ id }) => this.#members.has(id));
    return (members.length > 0 ? members : left).slice(0, STEP_AGENTS);
  }

  /**
   * Divides a batch that has failed, so that no answer spoils those of others.
   *
   * @returns whether the entry agent still answers
   */
  async #bringParts(entry: string, batch: readonly MemberCard[]): Promise<boolean> {
    if (await this.#bring(entry, batch)) return true;
    if (!(await this.#step(entry, LOOK, []))) return false;
    const middle = batch.length >> 1;
    for (const part of middle > 0 ? [batch.slice(0, middle), batch.slice(middle)] : []) {
      if (!(await this.#bringParts(entry, part))) return false;
    }
    return true;
  }

  /** Brings the command to the agents that it concerns. The others only name further agents. */
  async #bring(entry: string, batch: readonly MemberCard[]): Promise<boolean> {
    const { only } = this.#errand;
    const concerned = batch.filter(({ id }) => only?.includes(id) ?? true);
    const others = batch.filter((card) => !concerned.includes(card));
    if (others.length > 0 && !(await this.#step(entry, LOOK, others))) return false;
    return concerned.length === 0 || (await this.#step(entry, this.#errand, concerned)) !== null;
  }

  async #step(entry: string, errand: Errand, to: readonly MemberCard[]): Promise<WalkStep | null> {
    const { verb, args } = errand;
    const agents = this.#whom.agents.filter(({ id }) => id === entry);
    const answer = await this.#ports.ask({ ...this.#whom, agents }, verb, args, to);
    const step = answer.ok ? stepOf(answer.result) : null;
    if (!answer.ok) this.isRefused ||= answer.isRefused === true;
    if (!step) {
      this.failures.push(...(answer.ok ? [`unreadable answer of ${entry}`] : answer.failures));
      return null;
    }
    for (const card of [step.me, ...step.members, ...step.contacts]) {
      this.#named.add(card.id);
      const known = this.#cards.get(card.id);
      if (!known && this.#cards.size >= NAMES_MAX) continue;
      if (card.inc >= (known?.inc ?? 0)) this.#cards.set(card.id, card);
    }
    for (const { id } of step.members) if (this.#cards.has(id)) this.#members.add(id);
    for (const [id, result] of Object.entries(step.results)) {
      const card = to.find((one) => one.id === id);
      if (card) this.#visit(card, result, errand);
    }
    return step;
  }

  #visit(card: MemberCard, result: unknown, errand: Errand): void {
    const { id } = card;
    const isErrand = errand === this.#errand;
    if (isErrand && errand.isReadable?.(result, id) === false) {
      this.unreadable.add(id);
      return;
    }
    this.visited.set(id, card);
    if (isErrand) this.results.set(id, result);
  }
}

/** Null: it is not the response to a step of a walk. */
function stepOf(result: unknown): WalkStep | null {
  if (!isRecord(result) || !isRecord(result.results)) return null;
  const cardsIn = (list: unknown) => cardsOf(list, wallMs() + AHEAD_MS_MAX, NAMES_MAX);
  const [me] = cardsIn([result.me]);
  if (!me) return null;
  const [members, contacts] = [cardsIn(result.members), cardsIn(result.contacts)];
  return { ...(result as unknown as WalkStep), me, members, contacts };
}

function nameOf({ id, inc }: MemberCard): string {
  return `${id} ${inc}`;
}
