// The flags of the commands in this folder: whole numbers within bounds, lists of them, names of a
// choice and texts, each with its default. They are read from a command line, explained for `--help`, and written back as the
// command line that gives the same figures. An error is one line with the flag, the value and the
// remedy. Pure.

import { parseArgs } from 'node:util';

/** A whole number with its default and its bounds. */
export interface WholeNumber {
  readonly preset: number;
  readonly least: number;
  readonly most: number;
}

/** Different whole numbers within bounds, separated by commas. */
export interface WholeNumbers {
  readonly presets: readonly number[];
  readonly least: number;
  readonly most: number;
}

/** One of some names; the first is the default. */
export interface Choice<Name extends string = string> {
  readonly names: readonly [Name, ...Name[]];
}

type Flag = number | string | WholeNumber | WholeNumbers | Choice;
/** The flags of a benchmark with their defaults. A plain number is at least 1. */
export type Flags = Readonly<Record<string, Flag>>;
export type Given<F extends Flags> = { readonly [Name in keyof F]: ValueOf<F[Name]> };
type ValueOf<F extends Flag> = F extends string
  ? string
  : F extends Choice<infer Name>
    ? Name
    : F extends WholeNumbers
      ? readonly number[]
      : number;
type Value = string | number | readonly number[];

/** An error that the user can correct: printed as one line, and the command ends with 2. */
export class UsageError extends Error {}

const mostOfAll = 9_999_999;
/** Maximum of an agent's threads, as in the config. */
export const threadsMax = 4096;

/** A flag with other bounds than 1 and the general maximum. */
export function whole(preset: number, least: number, most = mostOfAll): WholeNumber {
  return { preset, least, most };
}

/** A flag that is a list. It is given as `1,2,4`. */
export function wholes(presets: readonly number[], least: number, most = mostOfAll): WholeNumbers {
  return { presets, least, most };
}

/** A flag that is one of these names, by default the first. */
export function oneOf<Name extends string>(...names: [Name, ...Name[]]): Choice<Name> {
  return { names };
}

/** A flag that is 0 or 1. */
export function zeroOrOne(preset: 0 | 1): WholeNumber {
  return { preset, least: 0, most: 1 };
}

/** @throws UsageError if a flag is unknown or its value is invalid */
export function readFlags<F extends Flags>(
  flags: F,
  argv: readonly string[],
): { readonly values: Given<F>; readonly json: boolean } {
  const text = { type: 'string' } as const;
  const { tokens } = parseArgs({
    args: [...argv],
    options: {
      ...Object.fromEntries(Object.keys(flags).map((name) => [name, text])),
      json: { type: 'boolean' },
    },
    // The messages of parseArgs name no remedy.
    ...{ strict: false, allowPositionals: true, tokens: true },
  });
  const given: Record<string, Value> = {};
  for (const [name, flag] of Object.entries(flags)) given[name] = presetOf(flag);
  let json = false;
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') {
      throw new UsageError(`${token.value}: belongs to no flag; see --help`);
    }
    const { rawName, value } = token;
    const name = rawName.slice(2);
    if (rawName === '--json') {
      if (value !== undefined)
        throw new UsageError(`--json=${value}: takes no value; write --json`);
      json = true;
      continue;
    }
    const flag = Object.hasOwn(flags, name) ? flags[name] : undefined;
    if (flag === undefined) {
      const known = [...Object.keys(flags), 'json', 'help'].map((one) => `--${one}`).join(', ');
      throw new UsageError(`${rawName}: no such flag; there are ${known}`);
    }
    if (!value) throw new UsageError(`--${name}: lacks its value, ${allowed(flag)}`);
    given[name] = readValue(name, value, flag);
  }
  return { values: given as Given<F>, json };
}

function readValue(name: string, text: string, flag: Flag): Value {
  if (typeof flag === 'string') return text;
  const wrong = (why: string) => new UsageError(`--${name} ${text}: ${why}`);
  if (typeof flag === 'object' && 'names' in flag) {
    if (flag.names.includes(text)) return text;
    throw wrong(`must be ${allowed(flag)}`);
  }
  const { least, most } = boundsOf(flag);
  const numberOf = (digits: string) => {
    const number = /^\d{1,7}$/.test(digits) ? Number(digits) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw wrong(`must be ${allowed(flag)}`);
  };
  if (typeof flag === 'number' || 'preset' in flag) return numberOf(text);
  const numbers = text.split(',').map(numberOf);
  const twice = numbers.find((number, k) => numbers.indexOf(number) < k);
  if (twice !== undefined) throw wrong(`names ${twice} twice`);
  return numbers;
}

function presetOf(flag: Flag): Value {
  if (typeof flag !== 'object') return flag;
  if ('names' in flag) return flag.names[0];
  return 'preset' in flag ? flag.preset : flag.presets;
}

function boundsOf(flag: number | WholeNumber | WholeNumbers): { least: number; most: number } {
  return typeof flag === 'object' ? flag : whole(flag, 1);
}

function allowed(flag: Flag): string {
  if (typeof flag === 'string') return 'a text';
  if (typeof flag === 'object' && 'names' in flag) return flag.names.join(' or ');
  const { least, most } = boundsOf(flag);
  if (typeof flag === 'object' && 'presets' in flag) {
    return `different whole numbers from ${least} to ${most}, as in ${flag.presets}`;
  }
  return most === 1 ? `${least} or 1` : `a whole number from ${least} to ${most}`;
}

/** The text of `--help`: every flag with its default and its values. */
export function helpText(name: string, flags: Flags): string {
  const rows: (readonly [string, string])[] = Object.entries(flags).map(([flag, of]) => [
    `--${flag} ${presetOf(of) === '' ? "''" : presetOf(of)}`,
    allowed(of),
  ]);
  rows.push(['--json', 'all that was measured, as one line of JSON'], ['--help', 'this']);
  const width = Math.max(...rows.map(([flag]) => flag.length)) + 3;
  const lines = rows.map(([flag, takes]) => `  ${flag.padEnd(width)}${takes}\n`);
  return `node bench/${name}.ts, flags with their defaults:\n${lines.join('')}`;
}

/**
 * The command line that repeats the measurement. It omits `--write`, which only says where figures
 * go.
 */
export function commandLine<F extends Flags>(name: string, flags: F, given: Given<F>): string {
  const changed = Object.entries(flags).flatMap(([flag, of]) => {
    const value = given[flag];
    return flag === 'write' || value === undefined || String(value) === String(presetOf(of))
      ? []
      : [` --${flag} ${value}`];
  });
  return `node bench/${name}.ts${changed.join('')}`;
}
