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

/** What a benchmark can be told, with its default: a whole number or a text. */
export type Flags = Readonly<Record<string, number | string>>;
export type Given<F extends Flags> = {
  readonly [Name in keyof F]: F[Name] extends number ? number : string;
};

/**
 * Runs a benchmark as a command: reads its flags, measures, prints.
 *
 * @param flags - their defaults: `{ pages: 1000 }` is `--pages 1000`
 */
export async function command<F extends Flags>(
  name: string,
  flags: F,
  measure: (given: Given<F>) => Promise<Report>,
): Promise<void> {
  const given = readFlags(flags, process.argv.slice(2));
  const on = machine();
  const startedMs = performance.now();
  const { tables, remarks, figures } = await measure(given.values);
  const tookS = Math.round((performance.now() - startedMs) / 1000);
  if (given.json) {
    const report = { bench: name, flags: given.values, machine: on, tookS, figures, remarks };
    process.stdout.write(`${JSON.stringify(report)}\n`);
    return;
  }
  const parts = [machineLine(on), ...tables.map(tableText), ...remarks, `took ${tookS} s`];
  process.stdout.write(`${parts.join('\n\n')}\n`);
}

/** Throws where a flag is unknown, or no whole number where it must be one. */
export function readFlags<F extends Flags>(
  flags: F,
  argv: readonly string[],
): { readonly values: Given<F>; readonly json: boolean } {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      ...Object.fromEntries(Object.keys(flags).map((name) => [name, text])),
      json: { type: 'boolean' },
    },
  });
  const given: Record<string, number | string> = { ...flags };
  const texts: Readonly<Record<string, unknown>> = values;
  for (const [name, preset] of Object.entries(flags)) {
    const value = texts[name];
    if (value === undefined) continue;
    const isNumber = typeof preset === 'number';
    if (isNumber && !/^\d{1,7}$/.test(String(value))) {
      throw new RangeError(`--${name}: not a whole number`);
    }
    given[name] = isNumber ? Number(value) : String(value);
  }
  return { values: given as Given<F>, json: values.json === true };
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

/** As Markdown, the title above it as a line of its own. */
export function markdownTable({ title, columns, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [title, '', line(columns), line(columns.map(() => '---')), ...rows.map(line)].join('\n');
}

/**
 * A page with what stands between `<!-- name -->` and `<!-- end of name -->` replaced.
 *
 * @throws where the page has no such lines
 */
export function replaceSection(page: string, name: string, text: string): string {
  const [first, last] = [`<!-- ${name} -->\n`, `<!-- end of ${name} -->`];
  const [from, to] = [page.indexOf(first), page.indexOf(last)];
  if (from < 0 || to < from) throw new Error(`no section ${name}`);
  return `${page.slice(0, from + first.length)}\n${text}\n\n${page.slice(to)}`;
}
