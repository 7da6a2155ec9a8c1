// The measures by which the paper on UbiCrawler judges a distributed crawler (Boldi, Codenotti,
// Santini, Vigna, Software: Practice and Experience 34, 2004), computed from what a crawl did, and
// what theory expects of them. Pure.

/**
 * Coverage is the share of the pages to crawl that were crawled. Overlap is the number of pages
 * crawled again for each distinct page.
 *
 * @param expected - number of pages that a complete crawl fetches
 * @param fetched - how often each page was fetched completely
 */
export function coverageAndOverlap(
  expected: number,
  fetched: Iterable<number>,
): { readonly coverage: number; readonly overlap: number } {
  const times = [...fetched].filter((count) => count > 0);
  const all = times.reduce((sum, count) => sum + count, 0);
  return {
    coverage: times.length / expected,
    overlap: times.length === 0 ? 0 : (all - times.length) / times.length,
  };
}

/**
 * The balance: standard deviation of the shares of the agents, each relative to the share that its
 * capacity deserves. 0 is perfect.
 *
 * @param work - hosts, pages or a part of the ring, by agent
 * @param capacities - of the same agents
 */
export function balance(work: readonly number[], capacities: readonly number[]): number {
  const sum = (values: readonly number[]) => values.reduce((s, value) => s + value, 0);
  const [whole, capacity] = [sum(work), sum(capacities)];
  const ratios = work.map((part, k) => part / whole / ((capacities[k] ?? 0) / capacity));
  return Math.sqrt(sum(ratios.map((ratio) => (ratio - 1) ** 2)) / ratios.length);
}

/**
 * The balance to expect. A point owns half of the gap on each of its sides, and the gaps between
 * random points are nearly exponential, so a part of p points that deserves the share w has the
 * relative variance (1 - w) / 2p. A crawl of h hosts adds (1 - w) / wh, because it draws them.
 *
 * @param hosts - hosts that are crawled; by default the ring itself, without hosts
 */
export function expectedBalance(
  replicas: number,
  capacities: readonly number[],
  hosts = Number.POSITIVE_INFINITY,
): number {
  const capacity = capacities.reduce((s, one) => s + one, 0);
  const variances = capacities.map((one) => {
    const share = one / capacity;
    const points = Math.max(1, Math.round(one * replicas));
    return (1 - share) * (1 / (2 * points) + 1 / (share * hosts));
  });
  return Math.sqrt(variances.reduce((s, one) => s + one, 0) / variances.length);
}

/** Mean number of distinct links of a page to other hosts, and its share of all distinct links. */
export function foreignLinks(
  web: ReadonlyMap<string, readonly string[]>,
  root: string,
): { readonly links: number; readonly share: number } {
  let [foreign, all] = [0, 0];
  for (const [url, named] of web) {
    const { host } = new URL(url);
    for (const link of new Set([...named, root])) {
      all++;
      if (new URL(link).host !== host) foreign++;
    }
  }
  return { links: foreign / web.size, share: foreign / all };
}

/**
 * URLs sent per page if each link to another host is sent unless its owner is the sender itself: of
 * n agents of equal capacity, (n - 1)/n of them.
 */
export function expectedSent(links: number, agents: number): number {
  return (links * (agents - 1)) / agents;
}

/** Share of the pages after which most hosts are known, and before which few are finished. */
const steady = { from: 0.2, to: 0.6 };

/**
 * Pages per second in the middle of a crawl: at first one host is known, and at last only the
 * largest hosts are left.
 *
 * @param endsMs - when each response was complete, in any order
 * @param pages - of the whole crawl, which may have been stopped when its middle was over
 */
export function steadyRate(endsMs: readonly number[], pages: number): number {
  const sorted = endsMs.toSorted((a, b) => a - b);
  const from = Math.floor((pages - 1) * steady.from);
  const to = Math.floor((pages - 1) * steady.to);
  const ms = (sorted[to] ?? Number.NaN) - (sorted[from] ?? Number.NaN);
  return ms > 0 ? ((to - from) / ms) * 1000 : Number.NaN;
}
