// Counts the hosts that need the operator's attention, for `status` and the problems of the cluster:
// hosts that wait for a robots.txt that is unavailable for now, their own or that of another host, so
// that a crawl with a queue may stall; and hosts whose pages repeat, as those of a spider trap do.
// There is no index for them and an agent may have a million hosts, so each call checks some hosts
// and the next call continues there.

import type { Connection } from '../encoding/connection.ts';

/** Hosts checked in one call, in about 2 ms. The count is always exact if there are fewer hosts. */
const HOSTS_PER_LOOK = 500;

/** The duplicate scores (limits.stalePages) that count as a trap. */
export interface TrapScores {
  /** From this score on, a host is slowed down. */
  readonly slowed: number;
  /** From this score on, its queue is skipped; null: never. */
  readonly stopped: number | null;
}

export interface FoundTroubles {
  /** Hosts with a queue whose robots.txt, or the one it redirects to, is out of reach. */
  readonly hostsAwaitingRobots: number;
  /** Why one of these hosts waits, for example `dns`; null: none waits. */
  readonly robotsWaitReason: string | null;
  /** Hosts whose pages repeat, and the one of them that was found last; null: there are none. */
  readonly traps: {
    readonly slowed: number;
    readonly stopped: number;
    readonly host: string;
  } | null;
}

interface Pass {
  awaiting: number;
  why: string | null;
  slowed: number;
  stopped: number;
  host: string | null;
}

const NONE: Readonly<Pass> = { awaiting: 0, why: null, slowed: 0, stopped: 0, host: null };

export class HostTroubles {
  readonly #hosts: ReturnType<typeof statement>;
  readonly #scores: TrapScores;
  /** The number of the last host checked, and what has been found so far in this pass. */
  #after = 0;
  #found: Pass = { ...NONE };
  /** What the last complete pass found. */
  #last: Readonly<Pass> = NONE;

  constructor(db: Connection, scores: TrapScores) {
    this.#hosts = statement(db);
    this.#scores = scores;
  }

  /** Checks some more hosts. @returns what the last complete pass found */
  look(): FoundTroubles {
    const { slowed, stopped } = this.#scores;
    const isStopped = (stale: number) => stopped !== null && stale >= stopped;
    const rows = this.#hosts.all(this.#after, Math.min(slowed, stopped ?? slowed), HOSTS_PER_LOOK);
    for (const { host, queued, stale, why } of rows) {
      if (why !== null) {
        this.#found.awaiting++;
        this.#found.why = why;
      }
      if (stale === null) continue;
      if (isStopped(stale)) this.#found.stopped++;
      else if (queued > 0 && stale >= slowed) this.#found.slowed++;
      else continue;
      this.#found.host = host;
    }
    this.#after = rows.at(-1)?.number ?? 0;
    if (rows.length < HOSTS_PER_LOOK) {
      this.#last = this.#found;
      this.#after = 0;
      this.#found = { ...NONE };
    }
    const { awaiting, why, host, ...counts } = this.#last;
    const traps = host === null ? null : { slowed: counts.slowed, stopped: counts.stopped, host };
    return { hostsAwaitingRobots: awaiting, robotsWaitReason: why, traps };
  }
}

interface Row {
  number: number;
  host: string;
  queued: number;
  /** Null: another agent owns the host. */
  stale: number | null;
  why: string | null;
}

/** A host with an infinite `retry_at` has no attempts left and does not wait: its queue ends. */
function statement(db: Connection) {
  return db.prepare<[number, number, number], Row>(
    `SELECT h.number, h.host, h.queued, CASE WHEN h.owned THEN h.stale END AS stale,
      CASE WHEN h.owned AND h.queued > 0 THEN (SELECT r.reason FROM robots r
        WHERE r.host = h.number AND r.kind = 'unreachable' AND r.retry_at < 9e999) END AS why
     FROM host_rows h WHERE h.number > ? AND (h.queued > 0 OR h.stale >= ?)
     ORDER BY h.number LIMIT ?`,
  );
}
