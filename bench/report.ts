// What every command of this folder has in common on the command line: whole-number flags with
// defaults, `--json`, the machine above the figures and the time that it all took. Figures go to
// stdout, what is going on meanwhile to stderr.

import { parseArgs } from 'node:util';
import { renderTable } from '../agent/cli/output.ts';
import { machine, machineLine } from './machine.ts';

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  /** The first column is text, the others figures. */
  readonly rows: readonly (readonly string[])[];
}

export interface Report {
  readonly tables: readonly Table[];
  /** Sentences below the tables: what was asked for and whether it holds. */
  readonly remarks: readonly string[];
  /** Everything measured, for `--json`. */
  readonly figures: unknown;
}

/**
 * Runs a benchmark as a command: reads its flags, measures, prints.
 *
 * @param flags - whole numbers with their defaults: `{ pages: 1000 }` is `--pages 1000`
 */
export async function command<Name extends string>(
  name: string,
  flags: Readonly<Record<Name, number>>,
  measure: (given: Readonly<Record<Name, number>>) => Promise<Report>,
): Promise<void> {
  const given = readFlags(flags, process.argv.slice(2));
  const on = machine();
  const startedMs = performance.now();
  const { tables, remarks, figures } = await measure(given.numbers);
  const tookS = Math.round((performance.now() - startedMs) / 1000);
  if (given.json) {
    const report = { bench: name, flags: given.numbers, machine: on, tookS, figures, remarks };
    process.stdout.write(`${JSON.stringify(report)}\n`);
    return;
  }
  const parts = [machineLine(on), ...tables.map(tableText), ...remarks, `took ${tookS} s`];
  process.stdout.write(`${parts.join('\n\n')}\n`);
}

/** Throws where a flag is unknown or no whole number. */
export function readFlags<Name extends string>(
  flags: Readonly<Record<Name, number>>,
  argv: readonly string[],
): { readonly numbers: Readonly<Record<Name, number>>; readonly json: boolean } {
  const names = Object.keys(flags) as Name[];
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      ...Object.fromEntries(names.map((name) => [name, text])),
      json: { type: 'boolean' },
    },
  });
  const numbers: Record<Name, number> = { ...flags };
  const texts: Readonly<Record<string, unknown>> = values;
  for (const name of names) {
    const value = texts[name];
    if (value === undefined) continue;
    if (!/^\d{1,7}$/.test(String(value))) throw new RangeError(`--${name}: not a whole number`);
    numbers[name] = Number(value);
  }
  return { numbers, json: values.json === true };
}

/** To stderr: how far it is. */
export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

function tableText({ title, columns, rows }: Table): string {
  const shown = columns.map((column, k) => ({
    title: column,
    ...(k === 0 ? {} : { align: 'right' as const }),
  }));
  return `${title}\n\n${renderTable(
    shown,
    rows.map((row) => [...row]),
  )}`;
}
