// Samples the regions that this agent leads, for one wave: adds up what the agents of a region say in
// heartbeats that they sent after the wave had begun. A wave asks one of two questions: whether the
// agents are idle, or how many pages they have in an epoch of the page limit.

import type { Key } from '../../../assignment/identifiers.ts';
import type { AgentState, PageCount } from '../../core/membership/overlay.ts';
import type { AgentId } from '../../core/protocol/messages.ts';
import { type Duty, isInPart, nameOf } from './duties.ts';

/** The digest shows whether two waves found the same agents in the same state. */
export interface Sum extends PageCount {
  readonly digest: bigint;
}

interface SampleResult {
  readonly sum: Sum;
  /** The idle periods of the agents in this wave. */
  readonly idleSince: ReadonlyMap<AgentId, number>;
}

/** A sample of a region for one wave: the numbers that the next heartbeats must exceed. */
interface Sample {
  readonly wave: string;
  readonly since: ReadonlyMap<AgentId, number>;
  /** Fixed when all agents have answered; null: not all have yet. */
  result: SampleResult | null;
}

export const DIGEST_BITS = 64;
const NOTHING: Sum = { digest: 0n, base: 0, pages: 0 };

/** A wave for the page counts of an epoch; other waves begin with the name of an agent. */
const PAGES = '#pages ';

export function pagesWave(epoch: string, number: number): string {
  return `${PAGES}${epoch}/${number}`;
}

/** Null: the wave asks whether the agents are idle. */
export function epochOf(wave: string): string | null {
  return wave.startsWith(PAGES) ? wave.slice(PAGES.length, wave.lastIndexOf('/')) : null;
}

export function plus(a: Sum, b: Sum): Sum {
  const digest = BigInt.asUintN(DIGEST_BITS, a.digest + b.digest);
  return { digest, base: a.base + b.base, pages: a.pages + b.pages };
}

export class Samples {
  /** By region. */
  readonly #samples = new Map<string, Sample>();
  readonly #digest: (text: string) => bigint;
  /** The first identifier of an agent. */
  readonly #placeOf: (id: AgentId) => Key;

  constructor(digest: (text: string) => bigint, placeOf: (id: AgentId) => Key) {
    this.#digest = digest;
    this.#placeOf = placeOf;
  }

  clear(): void {
    this.#samples.clear();
  }

  delete(region: string): void {
    this.#samples.delete(region);
  }

  /** The result for a wave; null: it is not complete, or of another wave. */
  resultOf(region: string, wave: string): SampleResult | null {
    const sample = this.#samples.get(region);
    return sample?.wave === wave ? sample.result : null;
  }

  /** The sum over the agents of the region; null: not all have answered. */
  take(duty: Duty, wave: string, stateOf: (id: AgentId) => AgentState | null): Sum | null {
    const { agents } = duty;
    const name = nameOf(duty.region);
    const sample = this.#samples.get(name);
    if (sample?.wave !== wave) {
      const since = new Map(agents.map((id) => [id, stateOf(id)?.counter ?? 0]));
      this.#samples.set(name, { wave, since, result: null });
      return null;
    }
    // A later idle period of an agent belongs to a later wave.
    if (sample.result) return sample.result.sum;
    const epoch = epochOf(wave);
    const idleSince = new Map<AgentId, number>();
    let sum = NOTHING;
    for (const id of agents) {
      const state = stateOf(id);
      const since = sample.since.get(id);
      // The next heartbeat may have been on its way when the wave began.
      if (!state || since === undefined || state.counter < since + 2) return null;
      const one = epoch === null ? this.#idle(state) : this.#pages(state, epoch);
      if (!one) return null;
      // An agent with several identifiers may be in several regions.
      sum = plus(sum, isInPart(duty, this.#placeOf(id)) ? one : { ...NOTHING, digest: one.digest });
      idleSince.set(id, state.idleSince);
    }
    sample.result = { sum, idleSince };
    return sum;
  }

  #idle({ id, inc, idle, idleSince }: AgentState): Sum | null {
    return idle ? { ...NOTHING, digest: this.#digest(`${id}.${inc} ${idleSince}`) } : null;
  }

  /** Its hosts must not be moving, and it counts by the epoch. */
  #pages({ id, inc, pages: state }: AgentState, epoch: string): Sum | null {
    if (!state?.quiet || state.epoch !== epoch) return null;
    const { changes, round, base, pages } = state;
    return { digest: this.#digest(`${id}.${inc} ${changes} ${round}`), base, pages };
  }
}
