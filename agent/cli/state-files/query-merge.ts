// Merges the claims of several state files on one URL or host, so that each page counts once. The
// file of a dead agent still claims the hosts that others took over, so a URL can be queued in one
// file and fetched in another. As in PROTOCOL rule 11, the later round wins, then the more
// advanced state: a response before a failure before a skip before a queued URL. Ties are decided
// by the current owner of the host, then by the earlier fetch, then by the smaller agent id.

/** Best first. */
const states = ['response', 'failed', 'skipped', 'queued'] as const;
export type ClaimState = (typeof states)[number];

/** The fields of a claim that decide which claim wins. */
export interface Standing {
  readonly agent: string;
  readonly round: number;
  readonly state: ClaimState;
  /** Unix milliseconds; null if nothing was fetched. */
  readonly fetchedAt: number | null;
}

/** The row of one file for a URL. */
export interface Claim extends Standing {
  readonly url: string;
  /** Null if the view of that state has no such column. */
  readonly depth: number | null;
  readonly attempts: number | null;
  /** Null for a seed. */
  readonly referrer: string | null;
  /** The row of the view, in the order of its columns. */
  readonly row: readonly unknown[];
}

/**
 * The winning claim, with the least depth and referrer and the most attempts of all claims.
 *
 * @param claims - at least one, all for the same URL, in any order
 * @param owner - the current owner of the host, if it is known
 */
export function mergeClaims(claims: readonly Claim[], owner?: string): Claim {
  const winner = standing(claims, owner);
  if (claims.length === 1) return winner;
  const depths = claims.flatMap(({ depth }) => depth ?? []);
  const attempts = claims.flatMap((claim) => claim.attempts ?? []);
  const referrers = claims.map(({ referrer }) => referrer);
  return {
    ...winner,
    depth: depths.length === 0 ? null : Math.min(...depths),
    attempts: attempts.length === 0 ? null : Math.max(...attempts),
    // Null stands for a seed and is less than any referrer.
    referrer: referrers.includes(null) ? null : referrers.reduce((a, b) => (a! < b! ? a : b))!,
  };
}

/** The winning claim on one URL. */
export function standing<C extends Standing>(claims: readonly C[], owner?: string): C {
  return claims.reduce((best, claim) => (isBefore(claim, best, owner) ? claim : best));
}

/** Whether `a` wins over `b` by its round and state alone. */
export function isFurther(a: Standing, b: Standing): boolean {
  if (a.round !== b.round) return a.round > b.round;
  return states.indexOf(a.state) < states.indexOf(b.state);
}

function isBefore(a: Standing, b: Standing, owner: string | undefined): boolean {
  if (a.state !== b.state || a.round !== b.round) return isFurther(a, b);
  if (a.agent !== b.agent && (a.agent === owner || b.agent === owner)) return a.agent === owner;
  const byFetch = (a.fetchedAt ?? 0) - (b.fetchedAt ?? 0);
  return byFetch !== 0 ? byFetch < 0 : a.agent < b.agent;
}

/** The row of one file for a host, by the columns of the view `hosts`. */
export type HostRow = Readonly<Record<string, number | bigint | string | null>>;

/**
 * Merges the rows of several files for one host: the row of the current owner or, if it has none,
 * the row with the latest fetch. URL counts are those of the merged URLs. The other counters are
 * the maximum of all files, since the count of one file may include that of another.
 *
 * @param rows - at least one, each with its `agent`
 * @param counts - of the merged URLs
 */
export function mergeHosts(
  rows: readonly HostRow[],
  counts: { readonly done: number; readonly queued: number },
  owner?: string,
): HostRow {
  const owners = rows.filter(({ agent }) => agent === owner);
  const latest = (owners.length > 0 ? owners : rows).reduce((best, row) => {
    const newer = Number(row.last_fetch_at ?? 0) - Number(best.last_fetch_at ?? 0);
    return newer > 0 || (newer === 0 && String(row.agent) < String(best.agent)) ? row : best;
  });
  const done = counts.queued === 0;
  const wasDone = latest.state === 'done';
  return {
    ...latest,
    pages_done: counts.done,
    pages_queued: counts.queued,
    out_of_scope: Math.max(...rows.map((row) => Number(row.out_of_scope ?? 0))),
    next_fetch_at: done ? null : (latest.next_fetch_at ?? null),
    state: done ? 'done' : wasDone ? 'waiting' : (latest.state ?? null),
  };
}
