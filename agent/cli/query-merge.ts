// One URL that several files claim: what becomes of it. A dead agent's file still claims the hosts
// that others took over, so the same URL can be queued in one file and fetched in another. The rule
// is that of the protocol (DESIGN section 3): the state that is further wins, among finished ones a
// response before a failure before a skip, then the earlier fetch, then the smaller agent; depth
// and referrer are the least of all claims, attempts the most. Pure; used by `query-views.ts`.

/** Best first. */
const states = ['response', 'failed', 'skipped', 'queued'] as const;
export type ClaimState = (typeof states)[number];

/** What one file says of a URL. */
export interface Claim {
  readonly agent: string;
  readonly url: string;
  readonly state: ClaimState;
  /** Unix milliseconds; null where nothing was fetched. */
  readonly fetchedAt: number | null;
  /** Null where the view of that state does not tell. */
  readonly depth: number | null;
  readonly attempts: number | null;
  /** Null for a seed. */
  readonly referrer: string | null;
  /** The row of the view, in the order of its columns. */
  readonly row: readonly unknown[];
}

/** @param claims - all of one URL, at least one; their order does not matter */
export function mergeClaims(claims: readonly Claim[]): Claim {
  const winner = claims.reduce((best, claim) => (isBefore(claim, best) ? claim : best));
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

function isBefore(a: Claim, b: Claim): boolean {
  const byState = states.indexOf(a.state) - states.indexOf(b.state);
  if (byState !== 0) return byState < 0;
  const byFetch = (a.fetchedAt ?? 0) - (b.fetchedAt ?? 0);
  return byFetch !== 0 ? byFetch < 0 : a.agent < b.agent;
}

/** What one file says of a host, by the columns of the view `hosts`. */
export type HostRow = Readonly<Record<string, number | string | null>>;

/**
 * One row for a host in several files. Counts of URLs are those of the merged URLs; counters that
 * have no URLs behind them are the most that any file says, since one may contain the other.
 *
 * @param rows - at least one, each with its `agent`
 */
export function mergeHosts(
  rows: readonly HostRow[],
  counts: { readonly done: number; readonly queued: number },
): HostRow {
  const latest = rows.reduce((best, row) => {
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
