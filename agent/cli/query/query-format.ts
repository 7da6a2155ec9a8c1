// Formats the rows of a query as an aligned table, a JSON array or CSV (RFC 4180). The text is
// generated from a stream of rows, so memory does not grow with their number.

import { cut, pad, printable } from '../common/output.ts';

export type Format = 'table' | 'json' | 'csv';
export const formats: readonly Format[] = ['table', 'json', 'csv'];

/** A value of SQLite. */
export type Cell = string | number | bigint | null | Uint8Array;

/**
 * A table's column widths are computed from this many rows; longer cells of later rows overflow.
 */
const measuredRowsMax = 1000;
/** Characters below which a truncated cell would be useless. */
const cutWidthMin = 8;

/**
 * @param columns - names; in JSON equal names get a number, such as `url_2`
 * @param width - the terminal's width, to which a table is truncated; null for full cells
 */
export function formatRows(
  format: Format,
  columns: readonly string[],
  rows: Iterable<readonly Cell[]>,
  width: number | null,
): Generator<string> {
  if (format === 'json') return jsonRows(columns, rows);
  if (format === 'csv') return csvRows(columns, rows);
  return tableRows(columns, rows, width);
}

/** One JSON object per line, with the columns as members. */
export function* jsonLines(
  columns: readonly string[],
  rows: Iterable<readonly Cell[]>,
): Generator<string> {
  const names = distinct(columns).map((name) => JSON.stringify(name));
  for (const row of rows) yield `${jsonObject(names, row)}\n`;
}

/** @param names - as JSON strings */
function jsonObject(names: readonly string[], row: readonly Cell[]): string {
  return `{${row.map((cell, k) => `${names[k]}:${jsonText(cell)}`).join(',')}}`;
}

function* jsonRows(columns: readonly string[], rows: Iterable<readonly Cell[]>): Generator<string> {
  const names = distinct(columns).map((name) => JSON.stringify(name));
  let before = '[\n';
  for (const row of rows) {
    yield `${before}${jsonObject(names, row)}`;
    before = ',\n';
  }
  yield before === '[\n' ? '[]\n' : '\n]\n';
}

function jsonText(cell: Cell): string {
  if (typeof cell === 'bigint') return String(cell);
  // JSON has no infinite numbers, and null would say that there is no value.
  if (typeof cell === 'number') return Number.isFinite(cell) ? realText(cell) : `"${cell}"`;
  return JSON.stringify(cell instanceof Uint8Array ? hex(cell) : cell);
}

/** A large real with an exponent: its digits would look like those of an integer, which are exact. */
function realText(real: number): string {
  const isLarge = Number.isInteger(real) && !Number.isSafeInteger(real);
  return isLarge ? real.toExponential() : String(real);
}

/** Numbers equal names: `url`, `url_2`, … */
function distinct(columns: readonly string[]): string[] {
  const taken = new Set<string>();
  return columns.map((name) => {
    let free = name;
    for (let n = 2; taken.has(free); n++) free = `${name}_${n}`;
    taken.add(free);
    return free;
  });
}

function* csvRows(columns: readonly string[], rows: Iterable<readonly Cell[]>): Generator<string> {
  yield csvLine(columns);
  for (const row of rows) yield csvLine(row.map(plainText));
}

function csvLine(cells: readonly string[]): string {
  const quoted = cells.map((cell) =>
    /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell,
  );
  // Without quotes a single empty cell would be an empty line.
  return `${quoted.length === 1 && quoted[0] === '' ? '""' : quoted.join(',')}\r\n`;
}

function* tableRows(
  columns: readonly string[],
  rows: Iterable<readonly Cell[]>,
  width: number | null,
): Generator<string> {
  const titles = columns.map(printable);
  const numeric = columns.map(() => true);
  let first: string[][] | null = [];
  let widths: number[] = [];
  const line = (cells: readonly string[]) =>
    `${cells
      .map((cell, k) => {
        const shown = width === null ? cell : cut(cell, widths[k]!);
        return pad(shown, widths[k]!, numeric[k] ? 'right' : 'left');
      })
      .join('  ')
      .trimEnd()}\n`;
  const head = (measured: readonly (readonly string[])[]) => {
    widths = titles.map((title, k) => {
      return Math.max(title.length, ...measured.map((row) => row[k]!.length));
    });
    if (width !== null) widths = fitted(widths, width);
    return [titles, widths.map((w) => '-'.repeat(w)), ...measured].map(line).join('');
  };
  for (const row of rows) {
    const cells = row.map((cell) => printable(plainText(cell)));
    if (first === null) {
      yield line(cells);
      continue;
    }
    for (const [k, cell] of row.entries()) {
      if (typeof cell === 'string' || cell instanceof Uint8Array) numeric[k] = false;
    }
    first.push(cells);
    if (first.length < measuredRowsMax) continue;
    yield head(first);
    first = null;
  }
  if (first !== null) yield head(first);
}

/** Narrows the widest columns until the line fits or all columns have `cutWidthMin`. */
function fitted(widths: readonly number[], total: number): number[] {
  const result = [...widths];
  let excess = result.reduce((sum, width) => sum + width + 2, -2) - total;
  while (excess > 0) {
    const widest = result.indexOf(Math.max(...result));
    if (result[widest]! <= cutWidthMin) break;
    result[widest] = result[widest]! - 1;
    excess--;
  }
  return result;
}

function plainText(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return realText(cell);
  return cell instanceof Uint8Array ? hex(cell) : String(cell);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
