// Host patterns in SQL, for the views and for queries of a file. They match as in
// agent/url/host-patterns.ts.

/** SQL: whether the pattern (a host, `*.h`, or `*`) matches the host. */
export const namesHost = (pattern: string, host: string): string =>
  `(${pattern} = ${host} OR ${pattern} = '*' OR (substr(${pattern}, 1, 2) = '*.'
    AND substr(${host}, 1 - length(${pattern})) = substr(${pattern}, 2)))`;

/**
 * SQL: the value of the most specific directive in force for the host; NULL: none. ORDER BY names no
 * column of an outer query, which SQLite before 3.41 does not find in a view.
 */
export const orderFor = (kind: 'block' | 'delay', host: string): string =>
  `(SELECT o.value FROM order_rows o
    WHERE o.kind = '${kind}' AND o.value IS NOT NULL AND ${namesHost('o.host', host)}
    ORDER BY substr(o.host, 1, 1) = '*', length(o.host) DESC LIMIT 1)`;

/** SQL: the delay of the config for the host. Only patterns that begin with `*` are compared. */
export const configDelayFor = (host: string): string =>
  `coalesce((SELECT c.value FROM config_delays c WHERE c.host = ${host}),
    (SELECT c.value FROM config_delays c WHERE c.host >= '*' AND c.host < '+'
      AND ${namesHost('c.host', host)} ORDER BY length(c.host) DESC LIMIT 1),
    (SELECT value FROM meta WHERE key = 'delay_ms'))`;
