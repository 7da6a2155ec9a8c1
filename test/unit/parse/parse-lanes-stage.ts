// The set-up shared by `parse-lanes.test.ts` and `slow/parse-lanes.test.ts`.

import type { PageInput } from '../../../agent/parse/page/page.ts';
import { ParseLanes } from '../../../agent/parse/parse-lanes.ts';

export const SCRIPT = new URL('./unruly-worker.ts', import.meta.url);

export function large(url: string): PageInput {
  const body = new TextEncoder().encode('<a href=next>'.padEnd(600 * 1024));
  return { body, contentType: 'text/html', url };
}

/** Runs with time limits that are never reached, so that a hanging page hangs until the end. */
export async function withLanes(use: (lanes: ParseLanes) => Promise<void>): Promise<void> {
  const endless = { timeoutMs: 600_000, cpuMs: 600_000 };
  const lanes = new ParseLanes({ workers: 1, ...endless, script: SCRIPT });
  try {
    await use(lanes);
  } finally {
    await lanes.close();
  }
}
