// One situation in which the product tells an operator what to do, and what it says.

import type { Stage } from './stage.ts';

export interface Situation {
  readonly name: string;
  /** Of the config; 1 where it is absent. */
  readonly agents?: number;
  /**
   * Texts that must be said in the situation, as they stand in the source: whole or in part, with `…`
   * for what is filled in, and the source file before it where others say the same.
   */
  readonly says: readonly string[];
  /** Brings it about, does what is said, and asserts that it helped. */
  readonly play: (stage: Stage) => Promise<void>;
}
