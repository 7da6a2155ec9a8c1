// Which known URLs are queued and which are skipped at once: the limits that can be told from the
// URL and its depth alone. The page limit of a host and robots.txt are known only when the host is
// visited.

import type { UrlItem } from '../core/messages.ts';
import type { SkipReason } from '../core/store.ts';

export function admission(limits: {
  readonly depthPerHost: number;
  readonly urlLength: number;
}): (item: UrlItem) => SkipReason | null {
  return (item) => {
    if (item.url.length > limits.urlLength) return 'length';
    return item.depth > limits.depthPerHost ? 'depth' : null;
  };
}
