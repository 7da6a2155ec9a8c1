// The set-up shared by `completion-by-hand.test.ts` and `slow/completion-by-hand.test.ts`.

import fs from 'node:fs';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { run, Scratch, untilAsked } from './cli-process.ts';
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
  const note = () => {
    const text = fs.readFileSync(path.join(scratch.dataDir, 'complete.json'), 'utf8');
    return JSON.parse(text) as { agents: string[] };
  };
  return { scratch, gate, config, note };
}

export function metEachOther(config: string): Promise<void> {
  return untilAsked('both agents have joined one cluster', async () => {
    const { stdout } = await run('status', config, '--json');
    const { agents } = JSON.parse(stdout) as { agents: { joined: boolean; members: unknown[] }[] };
    return agents.filter((one) => one.joined && one.members.length === 1).length === 2;
  });
}
