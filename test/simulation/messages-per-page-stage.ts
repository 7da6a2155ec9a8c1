// Limits for the messages that a cluster sends for a page, on virtual time. Shared by
// `messages-per-page.test.ts` and `slow/messages-per-page.test.ts`.
import assert from 'node:assert/strict';
import { simulate } from '../../bench/simulated-crawl.ts';

export const size = { hosts: 8, pages: 12, links: 4, backups: 1, seed: 1 };

/** Counts URLs and rows with their answers. The limits are 20 to 25 % above the current numbers. */
export function assertSparing(agents: number, messages: number, bytes: number): void {
  const { all } = simulate({ ...size, agents });
  assert.ok(all.messages <= messages && all.bytes <= bytes, JSON.stringify(all));
  assert.ok(all.messages > 1, 'other agents must receive links and rows');
}
