// A query that detects whether an agent has handed over hosts between two reads of its file.

/**
 * One row: the number of hosts that the agent owns, two sums that identify the set of their
 * numbers, and the highest number, `last`. Parameter: the highest number to include; null: all.
 */
export const HELD_HOSTS = `
  SELECT count(*) AS hosts, total(number) AS sum, total(number * number % 1000003) AS squares,
    coalesce(max(number), 0) AS last
  FROM host_rows WHERE owned AND number <= coalesce(?, 9e15)`;
