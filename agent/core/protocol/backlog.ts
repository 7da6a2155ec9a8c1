// Work whose size the web, the config or another agent decides, done in pieces: the links of a page,
// the seeds, the outbox after a change of the view. Each turn does pieces for one slice of some ten
// milliseconds, so heartbeats, leases and other hosts are never held up, however long all of it
// takes. Tasks take turns piece by piece: a large one does not hold up those after it.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Part } from './part.ts';
import type { TurnSlice } from './slice-port.ts';

export interface Task {
  /** Does one piece, at most a millisecond of work; true: the task is over. */
  step(now: Instant): boolean;
}

export class Backlog implements Part {
  readonly #slice: TurnSlice;
  /**
   * In the order in which they are served. Filled by `add` and `start`, emptied by `pump`. Bound:
   * the open requests (one task each), and one task for each kind of walk.
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

  /** Begins with the task at once, for one slice; what is left of it waits for its turns. */
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

  /** Goes on for one slice. */
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
