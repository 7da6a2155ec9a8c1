// The common parts of all commands in this folder: flags, `--help` and `--json`, the command line
// and the machine above the figures, the total time, and the exit code. Figures go to stdout,
// progress to stderr.

import { renderTable } from '../agent/cli/common/output.ts';
import { commandLine, type Flags, type Given, helpText, readFlags, UsageError } from './flags.ts';
import { machine, machineLine } from './machine.ts';

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  /** The first column is text, the others are figures. */
  readonly rows: readonly (readonly string[])[];
}

export interface Report {
  readonly tables: readonly Table[];
  /** Sentences below the tables: the targets and whether they hold. */
  readonly remarks: readonly string[];
  /** Sentences about targets that could not be measured, so that there is no verdict. */
  readonly lacking?: readonly string[];
  /** Everything measured, for `--json`. */
  readonly figures: unknown;
}

/**
 * Runs a benchmark as a command: reads its flags, measures, prints. Exits with 1 if figures are
 * missing, and with 2 and one line on stderr if a flag is wrong.
 *
 * @param flags - their defaults: `{ pages: 1000 }` is `--pages 1000`
 * @param measure - may throw a {@link UsageError} before it starts anything
 */
export async function command<F extends Flags>(
  name: string,
  flags: F,
  measure: (given: Given<F>) => Promise<Report>,
): Promise<void> {
  const argv = process.argv.slice(2);
  if (argv.includes('--help') || argv.includes('-h')) {
    process.stdout.write(helpText(name, flags));
    return;
  }
  try {
    const { values, json } = readFlags(flags, argv);
    const on = machine();
    const startedMs = performance.now();
    const { tables, remarks, lacking = [], figures } = await measure(values);
    const tookS = Math.round((performance.now() - startedMs) / 1000);
    if (lacking.length > 0) process.exitCode = 1;
    const told = [...remarks, ...lacking];
    if (json) {
      const report = { bench: name, flags: values, machine: on, tookS, figures, remarks: told };
      process.stdout.write(`${JSON.stringify(report)}\n`);
      return;
    }
    const head = `${commandLine(name, flags, values)}; ${machineLine(on)}`;
    const parts = [head, ...tables.map(tableText), ...told, `took ${tookS} s`];
    process.stdout.write(`${parts.join('\n\n')}\n`);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${name}: ${error.message}\n`);
    process.exitCode = 2;
  }
}

/** Prints the progress to stderr. */
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

/** As Markdown, with the title as a line above the table. */
export function markdownTable({ title, columns, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rule = `|${'---|'.repeat(columns.length)}`;
  return [title, '', line(columns), rule, ...rows.map(line)].join('\n');
}

/**
 * The page with the text between `<!-- name -->` and `<!-- end of name -->` replaced.
 *
 * @throws if the page has no such lines
 */
export function replaceSection(page: string, name: string, text: string): string {
  const [first, last] = [`<!-- ${name} -->\n`, `<!-- end of ${name} -->`];
  const [from, to] = [page.indexOf(first), page.indexOf(last)];
  if (from < 0 || to < from) throw new Error(`no section ${name}`);
  return `${page.slice(0, from + first.length)}\n${text}\n\n${page.slice(to)}`;
}

/** `holds` or `missed`, as a sentence. */
export function verdict(what: string, value: number, most: number, digits = 2): string {
  const word = value <= most ? 'holds' : 'missed';
  return `${what}: ${value.toFixed(digits)} (at most ${most.toFixed(digits)}: ${word}).`;
}
