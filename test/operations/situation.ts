// A situation in which the product tells an operator what to do, and the texts that it prints.

import type { Stage } from './stage.ts';

export interface Situation {
  readonly name: string;
  /** Number of agents in the config; 1 by default. */
  readonly agents?: number;
  /**
   * Texts that the product must print in the situation, as they are in the source: whole or in
   * part, with `…` for inserted values, and with the source file in front if other files have the
   * same text.
   */
  readonly says: readonly string[];
  /** Creates the situation, follows the remedy and asserts that it helped. */
  readonly play: (stage: Stage) => Promise<void>;
}
