// How many hosts wait for a robots.txt that cannot be had for now: their own, which is tried again,
// or another host's, whose owner is asked. It is why a crawl stands still that still has a queue, so
// `status` and the progress of `launch` tell it. No index has it and an agent may have a million
// hosts, so each look goes through some of them and goes on from there the next time.

import type { Connection } from '../encoding/connection.ts';

/** Hosts of one look, about two milliseconds: with no more than that the count is always exact. */
const HOSTS_PER_LOOK = 500;

export class RobotsWaits {
  readonly #hosts: ReturnType<typeof statement>;
  /** The number of the last host that was looked at, and those since the start that wait. */
  #after = 0;
  #counted = 0;
  /** Of the last time through all of them. */
  #waiting = 0;
  #why: string | null = null;

  constructor(db: Connection) {
    this.#hosts = statement(db);
  }

  /** Looks at some more. @returns the hosts that wait, as of the last time that all were seen */
  look(): number {
    const rows = this.#hosts.all(this.#after, HOSTS_PER_LOOK);
    for (const { why } of rows) {
      if (why === null) continue;
      this.#counted++;
      this.#why = why;
    }
    this.#after = rows.at(-1)?.number ?? 0;
    if (rows.length < HOSTS_PER_LOOK) {
      this.#waiting = this.#counted;
      this.#after = 0;
      this.#counted = 0;
    }
    return this.#waiting;
  }

  /** Why the host waits that was seen last; null where none waits. */
  get why(): string | null {
    return this.#waiting > 0 ? this.#why : null;
  }
}

/** Without an attempt left nothing is waited for: what is queued ends. */
function statement(db: Connection) {
  return db.prepare<[number, number], { number: number; why: string | null }>(
    `SELECT h.number AS number, CASE WHEN h.owned THEN (SELECT r.reason FROM robots r
      WHERE r.host = h.number AND r.kind = 'unreachable' AND r.retry_at < 9e999) END AS why
     FROM host_rows h WHERE h.queued > 0 AND h.number > ? ORDER BY h.number LIMIT ?`,
  );
}
