// Compiles the regular expressions of `scope` with RE2, which matches in linear time. JavaScript's
// engine backtracks: a URL on a page could block the event loop for an exponential time. V8's linear
// engine is experimental and lacks bounded repetitions. RE2 has no look-around and back-references.
// Patterns that RE2 would interpret differently than JavaScript are refused.

import { createRequire } from 'node:module';

export interface LinearPattern {
  /** As written. */
  readonly source: string;
  /** Whether the pattern matches anywhere in the text. */
  test(text: string): boolean;
}

export type CompiledPattern =
  | { readonly ok: true; readonly pattern: LinearPattern }
  | { readonly ok: false; readonly message: string; readonly remedy: string };

type Unsupported = readonly (readonly [syntax: RegExp, remedy: string])[];

/** Syntax outside of character classes that RE2 does not support or interprets differently. */
const OUTSIDE: Unsupported = [
  [/^\(\?<?[=!]/, 'look-around takes more than linear time; use a second entry, or scope.exclude'],
  [/^\[\^?\]/, 'write \\] for a bracket in a character class'],
];
/** The same in character classes. */
const INSIDE: Unsupported = [
  [/^\[:\^?[a-z]+:\]/, 'write the characters themselves, as in [a-z]'],
  [/^\\b/, 'write \\x08 for a backspace'],
];
const ESCAPES: Unsupported = [
  [/^\\(?:[1-9]|k<)/, 'a back-reference takes more than linear time; write the text again'],
  [/^\\(?:u(?![0-9A-Fa-f]{4})|c|x(?![0-9A-Fa-f]{2}))/, 'write the character itself, or \\xHH'],
  [/^\\(?![dDwWsSbBnrtfvxu])[A-Za-z]/, 'a letter needs no backslash, except in \\d \\w \\s \\b'],
];

/** Characters to compare with the syntax above; the longest is like `[:^xdigit:]`. */
const DIFFERENCE_CHARS_MAX = 40;

/** @returns the pattern, or why it is not supported and what to write instead */
export function compilePattern(source: string): CompiledPattern {
  try {
    new RegExp(source);
  } catch (error) {
    const remedy = 'in YAML, put it in single quotes';
    return { ok: false, message: `does not compile: ${messageOf(error)}`, remedy };
  }
  const difference = differenceIn(source);
  if (difference) return difference;
  try {
    const compiled = re2().compile(source.replace(ESCAPE, spelled));
    return { ok: true, pattern: { source, test: (text) => compiled.test(text) } };
  } catch (error) {
    const message = `cannot be matched in linear time: ${messageOf(error)}`;
    return { ok: false, message, remedy: 'split it into simpler expressions, one per entry' };
  }
}

function differenceIn(source: string): Extract<CompiledPattern, { ok: false }> | null {
  let inClass = false;
  for (let at = 0; at < source.length; at++) {
    const rest = source.slice(at, at + DIFFERENCE_CHARS_MAX);
    const found = [...(inClass ? INSIDE : OUTSIDE), ...ESCAPES].find(([s]) => s.test(rest));
    if (found) {
      const [text] = found[0].exec(rest)!;
      const message = `${JSON.stringify(text)} is not supported`;
      return { ok: false, message, remedy: found[1] };
    }
    if (source[at] === '\\') at++;
    else if (source[at] === '[') inClass = true;
    else if (source[at] === ']') inClass = false;
  }
  return null;
}

/** Matches each escape sequence. RE2 has `\x{HHHH}` instead of `\uHHHH`. */
const ESCAPE = /\\(?:u([0-9A-Fa-f]{4})|[\s\S])/g;

function spelled(written: string, hex: string | undefined): string {
  return hex === undefined ? written : `\\x{${hex}}`;
}

/** Loaded on first use: loading takes 20 ms, and most configs have no pattern. */
function re2() {
  const load = createRequire(import.meta.url);
  return (load('re2js') as typeof import('re2js')).RE2JS;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
