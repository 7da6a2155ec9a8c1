// Computes the politeness delay of a host: the time from the end of one request to the start of the
// next. It is the longest of the host's own delay (an operator's directive, else the config) and of
// what the host demands: the Crawl-delay of its robots.txt up to a cap, a multiple of the last
// response time, and the slow-down of a host whose pages repeat. Pure.

import type { Host } from '../core/protocol/messages.ts';
import { HostPatterns } from '../url/host-patterns.ts';

interface OwnDelays {
  readonly hostDelayMs: number;
  /** By pattern: a host, `*.h` for subdomains of h, or `*`. The most specific pattern applies. */
  readonly hosts: Readonly<Record<string, { readonly hostDelayMs: number }>>;
}

export interface DelayRules {
  /** Upper limit for the Crawl-delay. */
  readonly crawlDelayMaxMs: number;
  /** The delay is at least this factor times the last response time; 0: no such minimum. */
  readonly responseTimeFactor: number;
}

interface DelayFacts {
  readonly ownMs: number;
  /** The longest Crawl-delay of the host's robots.txt files; 0: none. */
  readonly crawlDelayMs: number;
  /** Duration of the last request. */
  readonly durationMs: number;
  /** How often the delay is doubled because the host's pages repeat. */
  readonly slowDown: number;
}

/** Limit of the scaled response time: longer ones say more about the network than the host. */
const SCALED_MS_MAX = 60_000;
/** Limit of the slow-down: even a host whose pages all repeat gets a request a minute. */
const SLOWED_MS_MAX = 60_000;
/** The delay to double for a host without any delay. */
const SLOWED_MS_MIN = 10;

/** @returns the delay of a host according to the config, in milliseconds */
export function ownDelay({ hostDelayMs, hosts }: OwnDelays): (host: Host) => number {
  const own = Object.entries(hosts).map(
    ([pattern, entry]) => [pattern, entry.hostDelayMs] as const,
  );
  if (own.length === 0) return () => hostDelayMs;
  const known = new HostPatterns(own);
  return (host) => known.get(host) ?? hostDelayMs;
}

/** @returns the delay that the host demands, which may be shorter than its own, in milliseconds */
export function demandedDelay(rules: DelayRules, facts: DelayFacts): number {
  const { ownMs, crawlDelayMs, durationMs, slowDown } = facts;
  const asked = Math.min(crawlDelayMs, rules.crawlDelayMaxMs);
  const scaled = Math.min(durationMs * rules.responseTimeFactor, SCALED_MS_MAX);
  const doubled = Math.max(ownMs, SLOWED_MS_MIN) * 2 ** slowDown;
  const slowed = slowDown === 0 ? 0 : Math.min(doubled, SLOWED_MS_MAX);
  return Math.max(asked, scaled, slowed);
}
