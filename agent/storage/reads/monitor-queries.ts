// SQL for the dashboard: hosts in pages, and events. Each statement ends soon,
// also in a file with millions of URLs.

/** The hosts of an agent; with a step above 1, about each `step`th of them. */
export const ownedHosts = (step: number): string =>
  `SELECT host FROM host_rows WHERE owned AND number % ${step} = 0`;
/** Parameter: names of hosts as JSON. Those that the agent has. */
export const HOSTS_AMONG = `SELECT host FROM host_rows
  WHERE owned AND host IN (SELECT value FROM json_each(?))`;
export const LAST_EVENT = 'SELECT max(id) AS last FROM event_rows';

/** Dates end there. Also false for text and bytes, which are larger than any number. */
const IS_TIME = 'at BETWEEN 0 AND 8640000000000000';
/**
 * The largest events, `join` and `complete`, name up to 1,024 members. A name has up to 64 characters
 * of up to 4 bytes, two quotes and a comma. The other fields take less than 1 KiB.
 */
const DETAIL_BYTES_MAX = 1024 * (64 * 4 + 3) + 1024;
/** An event as an agent writes it: a row that something else has changed would spoil the list. */
const IS_EVENT = `${IS_TIME} AND typeof(kind) = 'text' AND octet_length(kind) <= 64
  AND typeof(detail) = 'text' AND octet_length(detail) <= ${DETAIL_BYTES_MAX}`;

/** Parameters: the number of an event, and how many are read after it. */
export const EVENTS_AFTER = `SELECT id, CAST(at AS INTEGER), kind, detail FROM event_rows
  WHERE id > ? AND ${IS_EVENT} ORDER BY id LIMIT ?`;

export const SAMPLES = `SELECT at, pages, queued, pages_per_second, loop_delay_ms FROM samples
  WHERE ${IS_TIME} AND ${['pages', 'queued', 'pages_per_second', 'loop_delay_ms']
    .map((column) => `${column} BETWEEN 0 AND 9e15`)
    .join(' AND ')} ORDER BY at`;
/**
 * When agents joined, left or were removed; `agent` is null in some events of the agent itself.
 * Parameters: the numbers of the first and the last event.
 */
export const EVENTS_OF_MEMBERS = `SELECT CAST(at AS INTEGER) AS at, kind,
  json_extract(detail, '$.agent') AS agent, json_extract(detail, '$.capacity'),
  json_extract(detail, '$.incarnation') FROM event_rows
  WHERE id BETWEEN ? AND ? AND kind IN ('join', 'suspect', 'leave') AND ${IS_EVENT} AND json_valid(detail) ORDER BY id`;
/** The first and the last time of anything that is shown of the past. */
export const TIMES = `SELECT CAST(min(at) AS INTEGER) AS first, CAST(max(at) AS INTEGER) AS last FROM
  (SELECT at FROM sample_rows UNION ALL SELECT at FROM event_rows) WHERE ${IS_TIME}`;

/** Filters and the place to continue at, as SQL with its parameters. */
export class HostFilter {
  /** The name of no host is longer. */
  readonly #where: string[] = ["typeof(host) = 'text' AND octet_length(host) <= 1024"];
  readonly values: unknown[] = [];

  add(condition: string, ...values: unknown[]): void {
    this.#where.push(condition);
    this.values.push(...values);
  }

  /**
   * The hosts with the value by which they are sorted: names in ascending order, numbers in
   * descending order. No other columns, because SQLite computes all columns of all hosts before it
   * sorts them.
   */
  sql(sort: string, limit: number): string {
    const order = sort === 'host' ? 'host' : 'sorted DESC, host';
    return `SELECT host, ${sortKey(sort)} AS sorted FROM hosts
      WHERE ${this.#where.join(' AND ')} ORDER BY ${order} LIMIT ${limit}`;
  }

  /** Continues after a host, in the order of `sql`. */
  after(sort: string, value: number | string, host: string): void {
    const key = sortKey(sort);
    if (sort === 'host') this.add('host > ?', host);
    else this.add(`(${key} < ? OR (${key} = ? AND host > ?))`, value, value, host);
  }
}

function sortKey(sort: string): string {
  return sort === 'host' ? 'host' : numberKey(sort);
}

/** -1 for what is no number that JavaScript can tell from the next one; see `sortedNumber`. */
export function numberKey(column: string): string {
  const beyond = Number.MAX_SAFE_INTEGER + 1;
  return `coalesce(nullif(max(min(${column}, ${beyond}), -1), ${beyond}), -1)`;
}

/** One host. Its name is unique. */
export function hostRow(columns: readonly string[]): string {
  return `SELECT ${columns.join(', ')} FROM hosts WHERE host = ?`;
}
