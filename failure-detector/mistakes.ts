// What the detector has learned from being wrong. Each time a member turns out to have been alive
// when it was suspected, its time-out grows by half of `suspectAfterMs`, to twice at most: a dead
// agent's hosts must not wait longer than that for their successor. Quiet time takes the steps off
// again one by one. It is quiet only while the plain time-out would have done, so a member that
// is always a little late keeps its longer time-out.

/** Each step is half of suspectAfterMs, so two reach the cap of twice. */
const stepShare = 0.5;
const stepsMax = 2;

/**
 * Quiet time, in suspectAfterMs, that takes one step off. It must be well over the longest silence
 * that is forgiven (2), or a late member would lose its allowance between two late heartbeats.
 */
const quietShare = 5;

/**
 * Members whose mistakes are remembered, the one longest without a mistake leaves first. Far more
 * than a cluster has; it bounds what made-up identifiers can cost.
 */
const membersMax = 1024;

/** The lengthening of time-outs, by identifier: it outlives incarnations and absences. */
export class Mistakes {
  readonly #suspectAfterMs: number;
  /** Filled by `add`; entries without a step left are dropped when met. */
  readonly #members = new Map<string, { steps: number; quietSinceMs: number }>();

  constructor(suspectAfterMs: number) {
    this.#suspectAfterMs = suspectAfterMs;
  }

  /** The time-out of a silence of this member that begins now: suspectAfterMs to twice that. */
  timeoutMs(id: string, monoMs: number): number {
    return this.#suspectAfterMs * (1 + stepShare * this.#steps(id, monoMs));
  }

  /** The member was suspected and is alive: one step more. */
  add(id: string, monoMs: number): void {
    const steps = Math.min(stepsMax, this.#steps(id, monoMs) + 1);
    this.#members.delete(id);
    this.#members.set(id, { steps, quietSinceMs: monoMs });
    for (const oldest of this.#members.keys()) {
      if (this.#members.size <= membersMax) break;
      this.#members.delete(oldest);
    }
  }

  /** The member was silent so long that only its lengthened time-out spared it: not quiet. */
  spared(id: string, monoMs: number): void {
    const steps = this.#steps(id, monoMs);
    if (steps > 0) this.#members.set(id, { steps, quietSinceMs: monoMs });
  }

  #steps(id: string, monoMs: number): number {
    const member = this.#members.get(id);
    if (member === undefined) return 0;
    const quietMs = Math.max(0, monoMs - member.quietSinceMs);
    const steps = member.steps - Math.floor(quietMs / (quietShare * this.#suspectAfterMs));
    if (steps > 0) return steps;
    this.#members.delete(id);
    return 0;
  }
}
