// What tells whether an agent has given hosts to others between two looks at its file.

/**
 * One row: how many hosts the agent shows as its own, and which, as two sums of their numbers; `last`
 * is the highest number. The parameter is the highest number to look at, null for all.
 */
export const HELD_HOSTS = `
  SELECT count(*) AS hosts, total(number) AS sum, total(number * number % 1000003) AS squares,
    coalesce(max(number), 0) AS last
  FROM host_rows WHERE owned AND number <= coalesce(?, 9e15)`;
