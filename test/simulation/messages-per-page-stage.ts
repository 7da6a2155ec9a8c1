// How much a cluster may send for a page, on virtual time: for the tests in
// `messages-per-page.test.ts` and in `slow/messages-per-page.test.ts`.
import assert from 'node:assert/strict';
import { simulate } from '../../bench/simulated-crawl.ts';

export const size = { hosts: 8, pages: 12, links: 4, backups: 1, seed: 1 };

/** URLs and rows, each with its answer; the bounds are a fifth to a quarter above what is sent now. */
export function assertSparing(agents: number, messages: number, bytes: number): void {
  const { all } = simulate({ ...size, agents });
  assert.ok(all.messages <= messages && all.bytes <= bytes, JSON.stringify(all));
  assert.ok(all.messages > 1, 'links and rows must go to other agents');
}
