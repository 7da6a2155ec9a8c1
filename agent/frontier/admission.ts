// Decides which new URLs are queued and which are skipped at once, by what the URL and its depth
// show: depth, repeated path segments, and the length and port of the form that would be requested.
// The page limit of a host and robots.txt are checked when the host is visited.

import type { SkipReason } from '../core/protocol/core-store.ts';
import type { UrlItem } from '../core/protocol/messages.ts';
import { formOf } from '../url/crawl-url.ts';
import { refusedPortOf } from '../url/refused-ports.ts';

export function admission(limits: {
  readonly depthPerHost: number;
  readonly urlLength: number;
  readonly repeatedSegments: number;
  /** Whether ports of other protocols are allowed, too. */
  readonly everyPort: boolean;
}): (item: UrlItem) => SkipReason | null {
  return (item) => {
    const form = formOf(item);
    if (form.length > limits.urlLength) return 'length';
    if (!limits.everyPort && refusedPortOf(form) !== null) return 'blocked';
    if (item.depth > limits.depthPerHost) return 'depth';
    return repeats(item.url, limits.repeatedSegments) ? 'trap' : null;
  };
}

/** A wrong relative link can produce /a/b/a/b/a/b/… without end. */
function repeats(url: string, max: number): boolean {
  const path = url.slice(url.indexOf('/', url.indexOf('://') + 3)).split(/[?#]/, 1)[0]!;
  const segments = path.split('/').filter((segment) => segment !== '');
  if (segments.length <= max) return false;
  const times = new Map<string, number>();
  for (const segment of segments) {
    const n = (times.get(segment) ?? 0) + 1;
    if (n > max) return true;
    times.set(segment, n);
  }
  return false;
}
