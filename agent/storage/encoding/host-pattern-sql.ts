// Host patterns in SQL, for the views and for queries of a file. They match as in
// agent/url/host-patterns.ts: a host, `*.h` for its subdomains, or `*`.

/** SQL: whether the pattern matches the host. */
export const namesHost = (pattern: string, host: string): string =>
  `(${pattern} = ${host} OR ${pattern} = '*' OR (substr(${pattern}, 1, 2) = '*.'
    AND substr(${host}, 1 - length(${pattern})) = substr(${pattern}, 2)))`;

/** SQL: the value of the most specific directive in force for the host; NULL: none. */
export const orderFor = (kind: 'block' | 'delay', host: string): string =>
  mostSpecific(`order_rows WHERE kind = '${kind}' AND value IS NOT NULL`, host);

/** SQL: the delay of the host by directives, else by the config. */
export const ownDelayFor = (host: string): string =>
  `coalesce(${orderFor('delay', host)}, ${mostSpecific('config_delays WHERE true', host)},
    (SELECT value FROM meta WHERE key = 'delay_ms'))`;

/**
 * There may be thousands of patterns and of hosts: each name above the host is looked up, and only if
 * there are patterns for subdomains.
 *
 * @param patterns - SQL: a table with the columns `host` and `value`, and a condition
 */
const mostSpecific = (patterns: string, host: string): string =>
  `coalesce((SELECT value FROM ${patterns} AND host = ${host}),
    CASE WHEN EXISTS (SELECT 1 FROM ${patterns} AND host >= '*.' AND host < '*/') THEN (
      WITH RECURSIVE above(name) AS (
        SELECT substr(${host}, instr(${host}, '.') + 1) WHERE instr(${host}, '.') > 0
        UNION ALL
        SELECT substr(name, instr(name, '.') + 1) FROM above WHERE instr(name, '.') > 0)
      SELECT value FROM above CROSS JOIN ${patterns} AND host = '*.' || name LIMIT 1) END,
    (SELECT value FROM ${patterns} AND host = '*'))`;
