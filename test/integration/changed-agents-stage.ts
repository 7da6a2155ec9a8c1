// The set-up shared by `changed-agents.test.ts` and `slow/changed-agents.test.ts`.

import fs from 'node:fs';
import type { TestContext } from 'node:test';
import { Scratch, start, until, untilJoined } from './cli-process.ts';
import { startGate } from './gate-server.ts';

/** A crawl of two agents that waits for its gate; the config has their number or lists them. */
export async function stage(context: TestContext, numbered: boolean) {
  const scratch = new Scratch();
  const gate = await startGate();
  context.after(async () => {
    scratch.clean();
    await gate.stop();
  });
  const failureDetector = { heartbeatMs: 100, suspectAfterMs: 2000 };
  const more = numbered ? { cluster: { agents: 2, failureDetector } } : {};
  const config = await scratch.config(3, { seeds: [gate.seed], ...more });
  const written = JSON.parse(fs.readFileSync(config, 'utf8'));
  const setAgents = (agents: unknown) => {
    scratch.write('crawl.json', { ...written, cluster: { ...written.cluster, agents } });
  };
  const launch = start(['launch', config, '--agents', 'a1,a2']);
  await until('both agents', () => ['a1', 'a2'].every((id) => scratch.pid(id) !== null));
  const inCluster = (...ids: string[]) => untilJoined(config, ...ids);
  await inCluster('a1', 'a2');
  return { scratch, gate, config, agents: written.cluster.agents, setAgents, launch, inCluster };
}
