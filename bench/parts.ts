// Benchmarks that consist of parts: which of them a flag names, and their results together.

import { UsageError } from './flags.ts';
import type { Report, Table } from './report.ts';

/** The result of one part. */
export interface PartResult {
  readonly tables: readonly Table[];
  readonly remarks?: readonly string[];
  readonly figures: unknown;
}

/** By name. */
export type Parts<Given, Result extends PartResult> = Readonly<
  Record<string, (given: Given) => Result | Promise<Result>>
>;

/**
 * Runs the chosen parts one after the other.
 *
 * @param flag - the flag that chooses them, and its value: names, separated by commas; empty: all
 * @throws UsageError if a part does not exist, before any runs
 */
export async function runParts<Given, Result extends PartResult>(
  parts: Parts<Given, Result>,
  flag: readonly [name: string, value: string],
  given: Given,
): Promise<{ readonly done: readonly Result[]; readonly report: Report }> {
  const figures: Record<string, unknown> = {};
  const done: Result[] = [];
  for (const name of chosen(Object.keys(parts), flag)) {
    const result = await parts[name]!(given);
    figures[name] = result.figures;
    done.push(result);
  }
  const tables = done.flatMap((result) => result.tables);
  const remarks = done.flatMap((result) => result.remarks ?? []);
  return { done, report: { tables, remarks, figures } };
}

function chosen(
  known: readonly string[],
  [flag, value]: readonly [string, string],
): readonly string[] {
  if (value === '') return known;
  const names = value.split(',');
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return names;
  throw new UsageError(
    `--${flag} ${value}: there is no part ${unknown}; there are ${known.join(', ')}`,
  );
}
