// One URL that several files claim: what becomes of it. A dead agent's file still claims the hosts
// that others took over, so the same URL can be queued in one file and fetched in another. The rule
// is that of the protocol (PROTOCOL rule 11): the later round, then the state that is further wins, among finished
// ones a response before a failure before a skip; then the word of the host's present owner; then
// the earlier fetch, then the smaller agent. Depth and referrer are the least of all claims,
// attempts the most. So each page is credited once. Pure; used by `query-views.ts`, by the summary
// of `launch` through it, and by `audit`.

/** Best first. */
const states = ['response', 'failed', 'skipped', 'queued'] as const;
export type ClaimState = (typeof states)[number];

/** As much of a claim as decides which of several stands. */
export interface Standing {
  readonly agent: string;
  /** A later one goes before all that an earlier one came to. */
  readonly round: number;
  readonly state: ClaimState;
  /** Unix milliseconds; null where nothing was fetched. */
  readonly fetchedAt: number | null;
}

/** What one file says of a URL. */
export interface Claim extends Standing {
  readonly url: string;
  /** Null where the view of that state does not tell. */
  readonly depth: number | null;
  readonly attempts: number | null;
  /** Null for a seed. */
  readonly referrer: string | null;
  /** The row of the view, in the order of its columns. */
  readonly row: readonly unknown[];
}

/**
 * @param claims - all of one URL, at least one; their order does not matter
 * @param owner - the present owner of the host, where it is known
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
    // A seed was found on no page, which is less than any.
    referrer: referrers.includes(null) ? null : referrers.reduce((a, b) => (a! < b! ? a : b))!,
  };
}

/** Of several claims on one URL, the one that stands. */
export function standing<C extends Standing>(claims: readonly C[], owner?: string): C {
  return claims.reduce((best, claim) => (isBefore(claim, best, owner) ? claim : best));
}

/** Whether the state of `a` is further than that of `b`, whoever says it. */
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

/** What one file says of a host, by the columns of the view `hosts`. */
export type HostRow = Readonly<Record<string, number | bigint | string | null>>;

/**
 * One row for a host in several files: the present owner's, if it has one, else the one of who was
 * there last. Counts of URLs are those of the merged URLs; counters that
 * have no URLs behind them are the most that any file says, since one may contain the other.
 *
 * @param rows - at least one, each with its `agent`
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
