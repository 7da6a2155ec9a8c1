// Host patterns in SQL, for the views and for queries of a file. They match as in
// agent/url/host-patterns.ts: a host, `*.h` for its subdomains, or `*`.

/** SQL: whether the pattern matches the host. */
export const namesHost = (pattern: string, host: string): string =>
  `(${pattern} = ${host} OR ${pattern} = '*' OR (substr(${pattern}, 1, 2) = '*.'
    AND substr(${host}, 1 - length(${pattern})) = substr(${pattern}, 2)))`;

/** SQL: the delay of the most specific directive in force for the host; NULL: none. */
export const orderedDelayFor = (host: string): string =>
  mostSpecific("order_rows WHERE kind = 'delay' AND value IS NOT NULL", host);

/** SQL: the most specific pattern with a block in force for the host; NULL: none. */
export const blockFor = (host: string): string =>
  mostSpecific("order_rows WHERE kind = 'block' AND value IS NOT NULL", host, 'host');

/** SQL: the delay of the host by directives, else by the config. */
export const ownDelayFor = (host: string): string =>
  `coalesce(${orderedDelayFor(host)}, ${mostSpecific('config_delays WHERE true', host)},
    (SELECT value FROM meta WHERE key = 'delay_ms'))`;

/**
 * There may be thousands of patterns and of hosts: each name above the host is looked up, and only if
 * there are patterns for subdomains.
 *
 * @param patterns - SQL: a table with the columns `host` and `value`, and a condition
 * @param column - the result
 */
const mostSpecific = (patterns: string, host: string, column = 'value'): string =>
  `coalesce((SELECT ${column} FROM ${patterns} AND host = ${host}),
    CASE WHEN EXISTS (SELECT 1 FROM ${patterns} AND host >= '*.' AND host < '*/') THEN (
      WITH RECURSIVE above(name) AS (
        SELECT substr(${host}, instr(${host}, '.') + 1) WHERE instr(${host}, '.') > 0
        UNION ALL
        SELECT substr(name, instr(name, '.') + 1) FROM above WHERE instr(name, '.') > 0)
      SELECT ${column} FROM above CROSS JOIN ${patterns} AND host = '*.' || name LIMIT 1) END,
    (SELECT ${column} FROM ${patterns} AND host = '*'))`;
