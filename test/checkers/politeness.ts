// One request to a host at a time, and the next no sooner than the politeness delay after the end
// of the last, whoever makes them (PROTOCOL invariant I1).

import type { SeenRequest } from './evidence.ts';

export interface Politeness {
  readonly delayMs: number;
  /** Forgiven of the delay, where clocks run apart and timers round. */
  readonly toleranceMs: number;
}

/** Pairs of requests to one host that overlap, or follow closer than the delay. */
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
