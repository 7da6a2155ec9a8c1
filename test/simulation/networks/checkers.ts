// Checks a crawl by several networks from outside: from the requests, the faults and the rows at the
// end.

import { hostOf } from './random-web.ts';

interface Visit {
  readonly network: string;
  readonly page: string;
  readonly startMs: number;
  endMs: number;
  /** The delay of the host after it. */
  readonly delayMs: number;
  /** False: the Redis of the host's home is away. */
  readonly isLeased: boolean;
}

/** A time in which the pools, or the leases, may be less than the agents know. */
interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

export class Checkers {
  readonly violations: string[] = [];
  readonly #lastVisits = new Map<string, Visit[]>();
  readonly #fetchedBy = new Map<string, Set<string>>();
  readonly #excused = new Set<string>();
  /** When a page was last declared new without the answer of a network (ms). */
  readonly #partialAt = new Map<string, number>();
  /** Pages that other networks had fetched when a network returned, by network. */
  readonly #before = new Map<string, Set<string>>();
  /** Windows after servers lost leases. */
  readonly leasesLost: Window[] = [];
  /** Without faults nothing is excused. */
  isStrict = false;
  duplicates = 0;
  requests = 0;

  fail(what: string): void {
    if (this.violations.length < 20) this.violations.push(what);
  }

  /** The page is in an open batch during a fault: two networks may fetch it. */
  excuse(page: string): void {
    this.#excused.add(page);
  }

  /** The page was declared new without the answer of a network. */
  partial(page: string, nowMs: number): void {
    this.excuse(page);
    this.#partialAt.set(page, nowMs);
  }

  started(now: Omit<Visit, 'startMs' | 'endMs'>, nowMs: number): Visit {
    const { network, page } = now;
    this.requests++;
    const host = hostOf(page);
    const visits = this.#lastVisits.get(host) ?? [];
    for (const other of visits) {
      if (other.network === network || !other.isLeased || !now.isLeased) continue;
      const freeAtMs = other.endMs + other.delayMs;
      const isExcused = this.leasesLost.some(
        ({ fromMs, toMs }) => nowMs >= fromMs && nowMs <= toMs,
      );
      if (nowMs >= freeAtMs || isExcused) continue;
      const what =
        nowMs < other.endMs ? 'during' : `${Math.round(freeAtMs - nowMs)} ms early after`;
      this.fail(`${host}: at ${Math.round(nowMs)} ${network} visits ${what} ${other.network}`);
    }
    const visit = { ...now, startMs: nowMs, endMs: Infinity };
    const recent = visits.filter((v) => v.endMs + v.delayMs > nowMs);
    this.#lastVisits.set(host, [...recent, visit]);
    return visit;
  }

  /**
   * A network that had stopped starts: it must not request what the others have fetched.
   *
   * @param asked - URLs that waited for a verdict when it stopped, and are excused
   * @param lapsedFromMs - partial verdicts before this time may have left its claims, and are excused
   */
  returned(network: string, asked: ReadonlySet<string>, lapsedFromMs: number): void {
    const fetched = [...this.#fetchedBy].filter(([page, by]) => {
      const isLeft = (this.#partialAt.get(page) ?? Infinity) < lapsedFromMs;
      return !by.has(network) && !asked.has(page) && !isLeft;
    });
    this.#before.set(network, new Set(fetched.map(([page]) => page)));
  }

  fetched(network: string, page: string): void {
    if (this.#before.get(network)?.has(page)) {
      this.fail(`${page}: ${network} fetched it after its return, and had not to`);
    }
    const networks = this.#fetchedBy.get(page) ?? new Set();
    networks.add(network);
    this.#fetchedBy.set(page, networks);
  }

  wasFetched(page: string, network?: string): boolean {
    const networks = this.#fetchedBy.get(page);
    return network === undefined ? networks !== undefined : networks?.has(network) === true;
  }

  /** Without faults no page may be fetched by two networks. */
  duplicatesAtEnd(): void {
    for (const [page, networks] of this.#fetchedBy) {
      if (networks.size < 2) continue;
      this.duplicates++;
      if (!this.isStrict && this.#excused.has(page)) continue;
      this.fail(`${page}: fetched by ${[...networks].join(' and ')}, in no open batch`);
    }
  }
}
