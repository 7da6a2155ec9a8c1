// How long a host is left alone between the end of one request and the start of the next: its own
// delay (as ordered, else by the config), the Crawl-delay of its robots.txt up to a cap, and what
// its answers suggest (their time, and how little is new in them), whichever is longest. Pure; the
// visits ask after every request, and tell what came out to the fetch right and to the host's row,
// by which the next owner knows it too.

import type { Host } from '../core/protocol/messages.ts';
import { HostPatterns } from '../url/host-patterns.ts';

export interface OwnDelays {
  readonly hostDelayMs: number;
  /** By pattern: a host, `*.h` for the subdomains of h, `*`. The most specific one counts. */
  readonly hosts: Readonly<Record<string, { readonly hostDelayMs: number }>>;
}

export interface DelayRules {
  /** A longer Crawl-delay counts as this. */
  readonly crawlDelayMaxMs: number;
  /** The delay is at least this many times what the last response took; 0: it is not. */
  readonly responseTimeFactor: number;
}

/** What a visit knows of its host. */
export interface DelayFacts {
  readonly ownMs: number;
  /** Of the robots.txt files seen; 0 where none names one. */
  readonly crawlDelayMs: number;
  /** Of the last request. */
  readonly durationMs: number;
  /** Doublings for a host whose pages are not new any more. */
  readonly slowDown: number;
}

/** A response time has the network in it; beyond this it says nothing of the host. */
const SCALED_MS_MAX = 60_000;
/** A host that is slowed down still gets a page in so much time, however often its delay was doubled. */
const SLOWED_MS_MAX = 60_000;
/** What is doubled where the host has no delay at all. */
const SLOWED_MS_MIN = 10;

/** @returns the delay of a host by the config alone, in milliseconds */
export function ownDelay({ hostDelayMs, hosts }: OwnDelays): (host: Host) => number {
  const own = Object.entries(hosts).map(
    ([pattern, entry]) => [pattern, entry.hostDelayMs] as const,
  );
  if (own.length === 0) return () => hostDelayMs;
  const known = new HostPatterns(own);
  return (host) => known.get(host) ?? hostDelayMs;
}

/** @returns milliseconds from the end of a request to the start of the next */
export function delayAfter(rules: DelayRules, facts: DelayFacts): number {
  const { ownMs, crawlDelayMs, durationMs, slowDown } = facts;
  const asked = Math.min(crawlDelayMs, rules.crawlDelayMaxMs);
  const scaled = Math.min(durationMs * rules.responseTimeFactor, SCALED_MS_MAX);
  const doubled = Math.max(ownMs, SLOWED_MS_MIN) * 2 ** slowDown;
  const slowed = slowDown === 0 ? 0 : Math.min(doubled, SLOWED_MS_MAX);
  return Math.max(ownMs, asked, scaled, slowed);
}
