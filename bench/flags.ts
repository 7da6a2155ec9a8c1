// The flags of the commands in this folder: whole numbers within bounds and texts, each with its
// default. They are read from a command line, explained for `--help`, and written back as the
// command line that gives the same figures. An error is one line with the flag, the value and the
// remedy. Pure.

import { parseArgs } from 'node:util';

/** A whole number with its default and its bounds. */
export interface WholeNumber {
  readonly preset: number;
  readonly least: number;
  readonly most: number;
}

/** The flags of a benchmark with their defaults. A plain number is at least 1. */
export type Flags = Readonly<Record<string, number | string | WholeNumber>>;
export type Given<F extends Flags> = {
  readonly [Name in keyof F]: F[Name] extends string ? string : number;
};

/** An error that the user can correct: printed as one line, and the command ends with 2. */
export class UsageError extends Error {}

const mostOfAll = 9_999_999;
/** Maximum of an agent's threads, as in the config. */
export const threadsMax = 4096;

/** A flag with other bounds than 1 and the general maximum. */
export function whole(preset: number, least: number, most = mostOfAll): WholeNumber {
  return { preset, least, most };
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
  const given: Record<string, number | string> = {};
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
    given[name] = typeof flag === 'string' ? value : numberOf(name, value, flag);
  }
  return { values: given as Given<F>, json };
}

function numberOf(name: string, value: string, flag: number | WholeNumber): number {
  const { least, most } = boundsOf(flag);
  const number = /^\d{1,7}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new UsageError(`--${name} ${value}: must be ${allowed(flag)}`);
}

function presetOf(flag: Flags[string]): number | string {
  return typeof flag === 'object' ? flag.preset : flag;
}

function boundsOf(flag: number | WholeNumber): WholeNumber {
  return typeof flag === 'object' ? flag : whole(flag, 1);
}

function allowed(flag: Flags[string]): string {
  if (typeof flag === 'string') return 'a text';
  const { least, most } = boundsOf(flag);
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
    return flag === 'write' || value === undefined || value === presetOf(of)
      ? []
      : [` --${flag} ${value}`];
  });
  return `node bench/${name}.ts${changed.join('')}`;
}
