// Splits work whose size the web, the config or another agent decides into pieces: the links of a
// page, the seeds, the outbox after a change of the view. Each turn runs pieces for one slice of
// about ten milliseconds, so the work never delays heartbeats, leases or other hosts. Tasks
// alternate piece by piece, so a large task does not delay the tasks after it.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Part } from './part.ts';

/**
 * How long a turn may continue work that the next turn can resume. The core has no clock: the
 * runtime measures the slice in time, the simulator in units of work.
 */
export interface TurnSlice {
  begin(): void;
  /** Whether the slice has time left; asked before each piece of at most a millisecond. */
  mayGoOn(): boolean;
}

export interface Task {
  /** Does one piece, at most a millisecond of work; returns true when the task is finished. */
  step(now: Instant): boolean;
}

export class Backlog implements Part {
  readonly #slice: TurnSlice;
  /**
   * Unfinished tasks, the next one first. `add` and `start` fill the queue, `pump` empties it.
   * Bound: one task for each open request and one for each kind of walk.
   */
  readonly #tasks = new Set<Task>();

  constructor(slice: TurnSlice) {
    this.#slice = slice;
  }

  get isQuiet(): boolean {
    return this.#tasks.size === 0;
  }

  get isBusy(): boolean {
    return this.#tasks.size > 0;
  }

  /** Runs the task for one slice at once; queues what is left of it. */
  start(task: Task, now: Instant): void {
    this.#slice.begin();
    do {
      if (task.step(now)) return;
    } while (this.#slice.mayGoOn());
    this.#tasks.add(task);
  }

  add(task: Task): void {
    this.#tasks.add(task);
  }

  delete(task: Task): void {
    this.#tasks.delete(task);
  }

  /** Runs queued tasks for one slice. */
  pump(now: Instant): void {
    this.#slice.begin();
    do {
      const [task] = this.#tasks;
      if (!task) return;
      this.#tasks.delete(task);
      if (!task.step(now)) this.#tasks.add(task);
    } while (this.#slice.mayGoOn());
  }
}
