// The set-up shared by `dead-agents.test.ts` and `slow/dead-agents.test.ts`.

import type { TestContext } from 'node:test';
import { Scratch } from './cli-process.ts';
import { startGate } from './gate-server.ts';

/** Makes a crawl that ends after its gate is opened. */
export async function stage(context: TestContext, agents: number) {
  const scratch = new Scratch();
  const gate = await startGate();
  context.after(async () => {
    scratch.clean();
    await gate.stop();
  });
  const config = await scratch.config(agents, { seeds: [gate.seed] });
  const ids = Array.from({ length: agents }, (_, k) => `a${k + 1}`);
  const running = () => ids.every((id) => scratch.pid(id) !== null);
  return { scratch, gate, config, running };
}
