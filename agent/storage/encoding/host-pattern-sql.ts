// Host patterns in SQL: as agent/url/host-patterns.ts has them, for the views and for questions to a
// file.

/** SQL: whether the pattern (a host, `*.h`, or `*`) names the host. */
export const namesHost = (pattern: string, host: string): string =>
  `(${pattern} = ${host} OR ${pattern} = '*' OR (substr(${pattern}, 1, 2) = '*.'
    AND substr(${host}, 1 - length(${pattern})) = substr(${pattern}, 2)))`;

/**
 * SQL: the value of the most specific order in force for the host, NULL where there is none.
 *
 * @param kind - `block` or `delay`
 */
export const orderFor = (kind: 'block' | 'delay', host: string): string =>
  `(SELECT o.value FROM order_rows o
    WHERE o.kind = '${kind}' AND o.value IS NOT NULL AND ${namesHost('o.host', host)}
    ORDER BY o.host <> ${host}, length(o.host) DESC LIMIT 1)`;
