// Counts the hosts that wait for a robots.txt that is unavailable for now: their own, which is
// retried, or another host's, whose owner is asked. Such hosts are why a crawl with a queue may
// stall, so `status` and the progress of `launch` report them. There is no index for them and an
// agent may have a million hosts, so each call checks some hosts and the next call continues there.

import type { Connection } from '../encoding/connection.ts';

/** Hosts checked in one call, in about 2 ms. The count is always exact if there are fewer hosts. */
const HOSTS_PER_LOOK = 500;

export class RobotsWaits {
  readonly #hosts: ReturnType<typeof statement>;
  /** The number of the last host checked, and the waiting hosts found so far in this pass. */
  #after = 0;
  #counted = 0;
  /** The waiting hosts of the last complete pass. */
  #waiting = 0;
  #why: string | null = null;

  constructor(db: Connection) {
    this.#hosts = statement(db);
  }

  /** Checks some more hosts. @returns the waiting hosts of the last complete pass */
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

  /** Why the last waiting host waits; null: no host waits. */
  get why(): string | null {
    return this.#waiting > 0 ? this.#why : null;
  }
}

/** A host with an infinite `retry_at` has no attempts left and does not wait: its queue ends. */
function statement(db: Connection) {
  return db.prepare<[number, number], { number: number; why: string | null }>(
    `SELECT h.number AS number, CASE WHEN h.owned THEN (SELECT r.reason FROM robots r
      WHERE r.host = h.number AND r.kind = 'unreachable' AND r.retry_at < 9e999) END AS why
     FROM host_rows h WHERE h.queued > 0 AND h.number > ? ORDER BY h.number LIMIT ?`,
  );
}
