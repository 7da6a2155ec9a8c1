// The regular expressions of `scope`, matched in time linear in the URL's length. A page can contain
// any URL, and the engine of JavaScript takes exponential time for some pairs of pattern and text,
// during which the agent's loop stands still. RE2 never goes back in the text. (V8's own linear
// engine is experimental and lacks bounded repetitions.) RE2 has the syntax of JavaScript without
// look-around and back-references; what the two read differently is refused, so that a pattern means
// here what it means in JavaScript.

import { createRequire } from 'node:module';

/** A compiled pattern. */
export interface LinearPattern {
  /** As written. */
  readonly source: string;
  /** Whether the pattern matches anywhere in the text. */
  test(text: string): boolean;
}

export type CompiledPattern =
  | { readonly ok: true; readonly pattern: LinearPattern }
  | { readonly ok: false; readonly message: string; readonly remedy: string };

/** What RE2 does not take, or reads otherwise than JavaScript; with the remedy. */
const OUTSIDE: readonly (readonly [RegExp, string])[] = [
  [/^\(\?<?[=!]/, 'look-around takes more than linear time; use a second entry, or scope.exclude'],
  [/^\[\^?\]/, 'write \\] for a bracket that stands in a class'],
];
/** In a class of characters. */
const INSIDE: readonly (readonly [RegExp, string])[] = [
  [/^\[:\^?[a-z]+:\]/, 'write the characters themselves, as in [a-z]'],
  [/^\\b/, 'write \\x08 for a backspace'],
];
const ESCAPES: readonly (readonly [RegExp, string])[] = [
  [/^\\(?:[1-9]|k<)/, 'a back-reference takes more than linear time; write the text again'],
  [/^\\(?:u(?![0-9A-Fa-f]{4})|c|x(?![0-9A-Fa-f]{2}))/, 'write the character itself, or \\xHH'],
  [/^\\(?![dDwWsSbBnrtfvxu])[A-Za-z]/, 'a letter needs no backslash, but for \\d \\w \\s \\b'],
];

/** `[:^xdigit:]` and the like. */
const DIFFERENCE_CHARS_MAX = 40;

/** @returns the pattern, or why it cannot be matched in linear time and what to write instead */
export function compilePattern(source: string): CompiledPattern {
  try {
    new RegExp(source);
  } catch (error) {
    const remedy = 'in YAML, put single quotes round it';
    return { ok: false, message: `does not compile: ${messageOf(error)}`, remedy };
  }
  const difference = differenceIn(source);
  if (difference) return difference;
  try {
    const compiled = re2().compile(source.replace(ESCAPE, spelled));
    return { ok: true, pattern: { source, test: (text) => compiled.test(text) } };
  } catch (error) {
    const message = `cannot be matched in linear time: ${messageOf(error)}`;
    return { ok: false, message, remedy: 'write it as simpler expressions, one an entry' };
  }
}

function differenceIn(source: string): Extract<CompiledPattern, { ok: false }> | null {
  let inClass = false;
  for (let at = 0; at < source.length; at++) {
    const rest = source.slice(at, at + DIFFERENCE_CHARS_MAX);
    const found = [...(inClass ? INSIDE : OUTSIDE), ...ESCAPES].find(([form]) => form.test(rest));
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

/** RE2 writes `\uHHHH` as `\x{HHHH}`. */
const ESCAPE = /\\(?:u([0-9A-Fa-f]{4})|[\s\S])/g;

function spelled(written: string, hex: string | undefined): string {
  return hex === undefined ? written : `\\x{${hex}}`;
}

/** Loaded with the first pattern: most configs have none, and loading takes 20 ms. */
function re2() {
  const load = createRequire(import.meta.url);
  return (load('re2js') as typeof import('re2js')).RE2JS;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
