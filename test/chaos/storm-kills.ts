// Random kills and restarts of a whole cluster, once a second and with more agents than processors.
// Then the crawl must complete. Unlike the storm of all faults, it removes more agents at once than
// there are copies, up to half of them. random.ts and its test run it.

import { setTimeout as pause } from 'node:timers/promises';
import { Random } from '../simulation/random.ts';
import { type Cluster, gated } from './harness.ts';
import { assertWhole, type Verdict } from './harness-verdict.ts';

export interface KillStorm {
  readonly agents: number;
  readonly seconds: number;
  readonly seed: number;
}

/** Interval of the faults, each a kill or a restart. */
const everyMs = 1000;
/** Each start of Node.js takes a second, and a cluster of 24 agents on two processors is slow. */
const endMsMax = 300_000;

/**
 * Runs the faults and returns the verdict with the number of kills. More agents die at once than
 * there are copies, so all are started again before the end, to recover what only they knew.
 */
export async function killStorm(
  t: { after(clean: () => Promise<void>): void },
  { agents, seconds, seed }: KillStorm,
): Promise<{ verdict: Verdict; kills: number; cluster: Cluster }> {
  const web = { seed, hosts: 6 * agents, pages: Math.max(8, Math.ceil(seconds / 4)), sparse: true };
  // With this many agents on few processors, heartbeats are late.
  const suspectAfterMs = Math.max(2000, 250 * agents);
  const timing = { heartbeatMs: Math.max(100, 20 * agents), suspectAfterMs, delayMs: 500 };
  const options = { agents, web, ...timing, threads: 16 };
  const { gate, cluster } = await gated(t, options);
  await cluster.startAll();
  const random = new Random(seed);
  let kills = 0;
  for (let k = 0; k < seconds; k++) {
    const living = cluster.living();
    const dead = cluster.ids.filter((id) => !living.includes(id));
    // At most half of the agents are away at a time. With more, no cluster would remain.
    if (random.next() < 0.6 && dead.length < agents / 2) {
      await cluster.kill(living[Math.floor(random.next() * living.length)]!);
      kills++;
    } else if (dead.length > 0) {
      cluster.launch(dead[Math.floor(random.next() * dead.length)]!);
    }
    await pause(everyMs);
  }
  const away = cluster.ids.filter((id) => !cluster.living().includes(id));
  await cluster.startAll(away);
  await Promise.all(cluster.ids.map((id) => cluster.joined(id)));
  gate.open();
  return { verdict: await cluster.finish(endMsMax), kills, cluster };
}

/**
 * Asserts that no page is missing and that no host is shared. Each kill may cost pages that were
 * open or not copied.
 */
export function assertKillsSurvived({
  verdict,
  kills,
  cluster,
}: Awaited<ReturnType<typeof killStorm>>): void {
  assertWhole(verdict, { overlapMax: 2 * cluster.threads * kills });
}
