// Brings a command to all agents of a cluster whose agents know only some of the others. One agent
// that answers forwards the command to the agents that it knows; their answers name further agents,
// which are next, until nobody new is named. An agent that one has as a member and that does not
// answer is unreachable. A contact that does not answer may have left long ago, and does not count.

import type { WalkStep } from '../../control/control.ts';
import type { ControlVerb, MemberCard } from '../../core/protocol/messages.ts';
import { type Asked, askInTurn } from './ask.ts';
import { isListening } from './listener.ts';

/** Agents of one step: the answers fit into one message. */
const STEP_AGENTS = 32;

export interface Errand {
  readonly verb: ControlVerb;
  readonly args: readonly string[];
  /** The agents that it concerns; absent: all. */
  readonly only?: readonly string[];
}

export interface Walked {
  /** By agent. */
  readonly results: ReadonlyMap<string, unknown>;
  /** The agents that answered, also those that the command does not concern. */
  readonly visited: ReadonlyMap<string, MemberCard>;
  /** Members that did not answer. */
  readonly unreachable: readonly string[];
  /** The agents that answered, in groups that know nobody of each other. */
  readonly groups: readonly (readonly string[])[];
  /** The first response of each agent that forwarded the command. */
  readonly begins: readonly WalkStep[];
  /** Why no agent forwarded the command, or an agent of the config did not answer. */
  readonly failures: readonly string[];
}

/** @throws Refusal if no agent answers and one belongs to another crawl */
export async function walk(whom: Asked, errand: Errand): Promise<Walked> {
  const course = new Course(whom, errand);
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
  const { unreachable, begins, failures, groups } = course;
  const [results, visited] = [sorted(course.results), sorted(course.visited)];
  return { results, visited, unreachable, groups, begins, failures };
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
  /** An agent has forwarded the command until nobody new was named. */
  isFinished = false;
  readonly groups: string[][] = [];
  /** The agents that were named since the last group was found. */
  #named = new Set<string>();
  readonly #whom: Asked;
  #errand: Errand;
  /** All agents that were named, and those of them that an agent has in view. */
  readonly #cards = new Map<string, MemberCard>();
  readonly #members = new Set<string>();

  constructor(whom: Asked, errand: Errand) {
    this.#whom = whom;
    this.#errand = errand;
  }

  get unreachable(): readonly string[] {
    return [...this.#members].filter((id) => !this.visited.has(id));
  }

  /** Whether an agent may run that was not asked yet. A contact is named by its address. */
  async isNew(id: string, address: string): Promise<boolean> {
    if (id !== address) return !this.visited.has(id);
    const isVisited = [...this.visited.values()].some((card) => card.address === address);
    return !isVisited && (await isListening(address));
  }

  /** Asks all agents that were not asked yet through the agent `entry`, and this agent at last. */
  async through(entry: string): Promise<void> {
    const begin = await this.#step(entry, { verb: 'status', args: [] }, []);
    if (!begin) return;
    this.begins.push(begin);
    const { me } = begin;
    if (!(await this.#numbered(entry, me))) return;
    const asked = new Set([nameOf(me)]);
    for (;;) {
      const batch = this.#next(asked);
      if (batch.length === 0) break;
      for (const card of batch) asked.add(nameOf(card));
      if (!(await this.#bring(entry, batch))) return;
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
    if (!['pause', 'resume', 'block', 'delay'].includes(this.#errand.verb)) return true;
    const step = await this.#step(entry, this.#errand, [me]);
    if (step?.order === undefined) return false;
    this.#errand = { verb: 'order', args: [step.order] };
    return true;
  }

  /** Members come first: they answer, while a contact that is gone costs the time of an answer. */
  #next(asked: ReadonlySet<string>): MemberCard[] {
    const { only } = this.#errand;
    if (only?.every((id) => this.visited.has(id))) return [];
    const left = [...this.#cards.values()].filter((card) => {
      return !this.visited.has(card.id) && !asked.has(nameOf(card));
    });
    const members = left.filter(({ id }) => this.#members.has(id));
    return (members.length > 0 ? members : left).slice(0, STEP_AGENTS);
  }

  /** Brings the command to the agents that it concerns. The others only name further agents. */
  async #bring(entry: string, batch: readonly MemberCard[]): Promise<boolean> {
    const { only } = this.#errand;
    const concerned = batch.filter(({ id }) => only?.includes(id) ?? true);
    const others = batch.filter((card) => !concerned.includes(card));
    const look: Errand = { verb: 'status', args: [] };
    if (others.length > 0 && !(await this.#step(entry, look, others))) return false;
    return concerned.length === 0 || (await this.#step(entry, this.#errand, concerned)) !== null;
  }

  async #step(
    entry: string,
    { verb, args, only }: Errand,
    to: readonly MemberCard[],
  ): Promise<WalkStep | null> {
    const agents = this.#whom.agents.filter(({ id }) => id === entry);
    const answer = await askInTurn({ ...this.#whom, agents }, verb, args, to);
    if (!answer.ok) {
      this.failures.push(...answer.failures);
      return null;
    }
    const step = answer.result as WalkStep;
    for (const card of [step.me, ...step.members, ...step.contacts]) {
      this.#named.add(card.id);
      if (card.inc >= (this.#cards.get(card.id)?.inc ?? 0)) this.#cards.set(card.id, card);
    }
    for (const { id } of step.members) this.#members.add(id);
    const isErrand = verb === this.#errand.verb && only === this.#errand.only;
    for (const [id, result] of Object.entries(step.results)) {
      const card = to.find((one) => one.id === id);
      if (!card) continue;
      this.visited.set(id, card);
      if (isErrand) this.results.set(id, result);
    }
    return step;
  }
}

function nameOf({ id, inc }: MemberCard): string {
  return `${id} ${inc}`;
}
