// Requests to a host never overlap, and each starts no sooner than the politeness delay after the
// end of the previous one, whichever agents send them (PROTOCOL invariant I1).

import type { SeenRequest } from './evidence.ts';

export interface Politeness {
  readonly delayMs: number;
  /** Tolerance of the delay, because clocks differ and timers round. */
  readonly toleranceMs: number;
}

/** Pairs of requests to one host that overlap or are closer than the delay. */
export function impolite(requests: readonly SeenRequest[], rules: Politeness): string[] {
  const offences: string[] = [];
  const last = new Map<string, SeenRequest>();
  for (const request of [...requests].sort((a, b) => a.start - b.start)) {
    const before = last.get(request.host);
    if (before && request.start - before.end < rules.delayMs - rules.toleranceMs) {
      const gap = Math.round(request.start - before.end);
      offences.push(
        `impolite: ${request.url} by ${request.by}, ${gap} ms after ${before.url} by ${before.by}`,
      );
    }
    if (!before || request.end > before.end) last.set(request.host, request);
  }
  return offences;
}
