// One line of a terminal: a text in one style, and perhaps a plain text to the right of it.

import { cut } from '../common/output.ts';

export interface Line {
  readonly text: string;
  readonly style?: 'bold' | 'dim' | 'red' | 'yellow' | undefined;
  /** Follows `text` in no style. */
  readonly beside?: string;
}

/** The line with at most `columns` characters. */
export function cutLine({ text, style, beside = '' }: Line, columns: number): Line {
  const shown = cut(text, columns);
  return { text: shown, style, beside: cut(beside, columns - shown.length) };
}
