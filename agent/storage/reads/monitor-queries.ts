// SQL for the dashboard: hosts in pages, the URLs of a host, and events. Each statement ends soon,
// also in a file with millions of URLs.

/** The hosts of an agent; with a step above 1, about each `step`th of them. */
export const ownedHosts = (step: number): string =>
  `SELECT host FROM host_rows WHERE owned AND number % ${step} = 0`;
/** Parameter: names of hosts as JSON. Those that the agent has. */
export const HOSTS_AMONG = `SELECT host FROM host_rows
  WHERE owned AND host IN (SELECT value FROM json_each(?))`;
export const LAST_EVENT = 'SELECT max(id) AS last FROM event_rows';
/** Parameters: the number of an event, and how many are read after it. */
export const EVENTS_AFTER = `SELECT id, CAST(at AS INTEGER), kind, detail FROM event_rows
  WHERE id > ? ORDER BY id LIMIT ?`;

export const SAMPLES = `SELECT at, pages, queued, pages_per_second, loop_delay_ms FROM samples
  ORDER BY at`;
/** When agents joined, left or were removed; `agent` is null in some events of the agent itself. */
export const EVENTS_OF_MEMBERS = `SELECT CAST(at AS INTEGER), kind, json_extract(detail, '$.agent'),
  json_extract(detail, '$.capacity') FROM event_rows
  WHERE kind IN ('join', 'suspect', 'leave') ORDER BY id`;
/** The first and the last time of anything that is shown of the past. */
export const TIMES = `SELECT CAST(min(at) AS INTEGER) AS first, CAST(max(at) AS INTEGER) AS last FROM
  (SELECT at FROM sample_rows UNION ALL SELECT at FROM event_rows)`;

/** Filters and the place to continue at, as SQL with its parameters. */
export class HostFilter {
  readonly #where: string[] = ['1'];
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
  return sort === 'host' ? 'host' : `coalesce(${sort}, -1)`;
}

/** The columns of one host in a view; the last two parameters are the page. */
export function rowsOfHost(view: string, columns: readonly string[]): string {
  return `SELECT ${columns.join(', ')} FROM ${view} WHERE host = ? LIMIT ? OFFSET ?`;
}
