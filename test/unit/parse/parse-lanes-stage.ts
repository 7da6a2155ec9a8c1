// The set-up that `parse-lanes.test.ts` and `slow/parse-lanes.test.ts` share.

import type { PageInput } from '../../../agent/parse/page/page.ts';
import { ParseLanes } from '../../../agent/parse/parse-lanes.ts';

export const SCRIPT = new URL('./unruly-worker.ts', import.meta.url);

export function large(url: string): PageInput {
  const body = new TextEncoder().encode('<a href=next>'.padEnd(600 * 1024));
  return { body, contentType: 'text/html', url };
}

/** Time is no limit here: what hangs does so until the end. */
export async function withLanes(use: (lanes: ParseLanes) => Promise<void>): Promise<void> {
  const endless = { timeoutMs: 600_000, cpuMs: 600_000 };
  const lanes = new ParseLanes({ workers: 1, ...endless, script: SCRIPT });
  try {
    await use(lanes);
  } finally {
    await lanes.close();
  }
}
