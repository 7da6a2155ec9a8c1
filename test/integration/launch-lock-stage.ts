// The set-up shared by `launch-lock.test.ts` and `slow/launch-lock.test.ts`.

import type { TestContext } from 'node:test';
import { Scratch } from './cli-process.ts';
import { startGate } from './gate-server.ts';

/** Makes a crawl whose only page is answered after the gate is opened. */
export async function gated(t: TestContext, agents: number) {
  const scratch = new Scratch();
  const gate = await startGate();
  t.after(async () => {
    scratch.clean();
    await gate.stop();
  });
  return { scratch, gate, config: await scratch.config(agents, { seeds: [gate.seed] }) };
}
