// Counts an agent's failed requests by class, for `status` and `top`. The classes are the codes of
// the view `pages` (`dns`, `tls`), and `4xx` and `5xx` for responses. Attempts count, so that a
// server that fails now shows before its URLs have failed for good.

import type { Outcome } from '../core/protocol/outcome.ts';

export class FailureCounts {
  /** Bounded by the number of failure codes of a fetch. */
  readonly #counts = new Map<string, number>();

  note(outcome: Outcome): void {
    const failure = classOf(outcome);
    if (failure !== null) this.#counts.set(failure, (this.#counts.get(failure) ?? 0) + 1);
  }

  /** Requests since the start, by class. */
  byClass(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }
}

/** Null: the request succeeded, or this agent withdrew it. */
function classOf(outcome: Outcome): string | null {
  switch (outcome.kind) {
    case 'failure':
      return outcome.cause === 'withdrawn' ? null : outcome.code;
    case 'response':
      return statusClass(outcome.status);
    case 'robots': {
      const { answer } = outcome;
      return answer.kind === 'unreachable' ? (answer.error ?? statusClass(answer.status)) : null;
    }
  }
}

function statusClass(status: number | null): string | null {
  return status !== null && status >= 400 ? `${Math.floor(status / 100)}xx` : null;
}
