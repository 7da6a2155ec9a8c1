// Ports for agents that may be started again: an agent finds its own free whenever it comes back.
// Used by the clusters of the chaos tests.

import assert from 'node:assert/strict';
import { listening } from '../integration/cli-process.ts';

/** Below the range from which the crawl's own connections take theirs, so that a restart finds its own. */
const portFirst = 11_000;
const portBlock = 100;
const portBlocks = 200;
let portNext = portFirst + (process.pid % portBlocks) * portBlock;

/** Of loopback, all different, nobody listens there. */
export async function portsBelowEphemeral(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tries = 0; ports.length < count && tries < portBlock * 10; tries++) {
    const port = portNext++;
    if (portNext >= portFirst + portBlocks * portBlock) portNext = portFirst;
    try {
      const server = await listening(port);
      await new Promise((done) => server.close(done));
      ports.push(port);
    } catch {
      // Somebody listens there.
    }
  }
  assert.equal(ports.length, count, 'not enough free ports');
  return ports;
}
