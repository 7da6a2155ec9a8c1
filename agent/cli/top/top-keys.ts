// The keys of `top`. A key changes the text that is shown or typed, or names an action on the
// cluster, which the caller performs.

/** What the operator has chosen to see. */
export interface TopChoice {
  /** Only agents, problems and events with this text are shown; '': all. */
  readonly filter: string;
  /** Whether the filter is being typed. */
  readonly isTyping: boolean;
  readonly isHelp: boolean;
}

export type TopAction = 'quit' | 'pause' | 'dashboard';

/** A key as Node's `keypress` event names it. */
export interface Key {
  readonly name?: string | undefined;
  readonly ctrl?: boolean | undefined;
  readonly meta?: boolean | undefined;
  readonly sequence?: string | undefined;
}

export interface Pressed {
  readonly choice: TopChoice;
  readonly action: TopAction | null;
}

export const START: TopChoice = { filter: '', isTyping: false, isHelp: false };

/** Longer than any name of a host. */
const FILTER_CHARS_MAX = 300;

export function press(choice: TopChoice, key: Key): Pressed {
  // In raw mode the terminal sends no SIGINT.
  if (key.ctrl && key.name === 'c') return { choice, action: 'quit' };
  if (key.name === 'escape') return { choice: START, action: null };
  if (choice.isTyping) return { choice: typed(choice, key), action: null };
  switch (key.sequence) {
    case 'q':
      return { choice, action: 'quit' };
    case 'p':
      return { choice, action: 'pause' };
    case 'o':
      return { choice, action: 'dashboard' };
    case 'h':
    case '?':
      return { choice: { ...choice, isHelp: !choice.isHelp }, action: null };
    case '/':
      return { choice: { filter: '', isTyping: true, isHelp: false }, action: null };
    default:
      return { choice, action: null };
  }
}

function typed(choice: TopChoice, { name, ctrl, meta, sequence = '' }: Key): TopChoice {
  if (name === 'return' || name === 'enter') return { ...choice, isTyping: false };
  if (name === 'backspace') return { ...choice, filter: choice.filter.slice(0, -1) };
  const isText = !ctrl && !meta && /^[^\p{Cc}]$/u.test(sequence);
  if (!isText || choice.filter.length >= FILTER_CHARS_MAX) return choice;
  return { ...choice, filter: choice.filter + sequence };
}
