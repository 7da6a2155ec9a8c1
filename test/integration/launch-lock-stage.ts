// The set-up that `launch-lock.test.ts` and `slow/launch-lock.test.ts` share.

import type { TestContext } from 'node:test';
import { Scratch } from './cli-process.ts';
import { startGate } from './gate-server.ts';

/** A crawl whose only page is answered when the gate opens. */
export async function gated(t: TestContext, agents: number) {
  const scratch = new Scratch();
  const gate = await startGate();
  t.after(async () => {
    scratch.clean();
    await gate.stop();
  });
  return { scratch, gate, config: await scratch.config(agents, { seeds: [gate.seed] }) };
}
