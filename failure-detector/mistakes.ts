// Lengthens the time-outs of members that were suspected although they were alive. Each such
// mistake adds a step of half of `suspectAfterMs` to the member's time-out. Two steps are the
// maximum, because the hosts of a dead agent must not wait longer for a successor. Steps expire one
// by one while the member is not late, that is, while `suspectAfterMs` alone would have sufficed.

/** A step, as a fraction of suspectAfterMs. */
const stepShare = 0.5;
const stepsMax = 2;

/**
 * Time without lateness after which one step expires, in multiples of suspectAfterMs. It must be
 * well above the longest time-out (2), or a step would expire between two late heartbeats.
 */
const quietFactor = 5;

/**
 * Maximum number of members with mistakes; the one whose last mistake is oldest is removed first.
 * No cluster has as many agents; the limit bounds the memory that invented identifiers can use.
 */
const membersMax = 1024;

/** The steps of each identifier. They outlive incarnations and absences of the member. */
export class Mistakes {
  readonly #suspectAfterMs: number;
  /** Filled by `add`; entries without steps are removed when they are read. */
  readonly #members = new Map<string, { steps: number; quietSinceMs: number }>();

  constructor(suspectAfterMs: number) {
    this.#suspectAfterMs = suspectAfterMs;
  }

  /** The time-out of a silence that begins now: from suspectAfterMs to twice that. */
  timeoutMs(id: string, monoMs: number): number {
    return this.#suspectAfterMs * (1 + stepShare * this.#steps(id, monoMs));
  }

  /** Adds a step: the member was suspected and is alive. */
  add(id: string, monoMs: number): void {
    const steps = Math.min(stepsMax, this.#steps(id, monoMs) + 1);
    this.#members.delete(id);
    this.#members.set(id, { steps, quietSinceMs: monoMs });
    for (const oldest of this.#members.keys()) {
      if (this.#members.size <= membersMax) break;
      this.#members.delete(oldest);
    }
  }

  /** The member was late, but within its time-out: the expiry of its steps starts again. */
  late(id: string, monoMs: number): void {
    const steps = this.#steps(id, monoMs);
    if (steps > 0) this.#members.set(id, { steps, quietSinceMs: monoMs });
  }

  #steps(id: string, monoMs: number): number {
    const member = this.#members.get(id);
    if (member === undefined) return 0;
    const quietMs = Math.max(0, monoMs - member.quietSinceMs);
    const steps = member.steps - Math.floor(quietMs / (quietFactor * this.#suspectAfterMs));
    if (steps > 0) return steps;
    this.#members.delete(id);
    return 0;
  }
}
