// Random kills and restarts of a whole cluster, once a second and more agents than processors, until
// the time is over; then the crawl has to end complete. By hand, with the seed that a failure has
// printed, and smaller in a test:
//   node test/chaos/random.ts --agents 24 --seconds 120 --seed 7

import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Cluster, gated } from './harness.ts';
import { assertWhole, type Verdict } from './harness-verdict.ts';

export interface RandomFaults {
  readonly agents: number;
  readonly seconds: number;
  readonly seed: number;
}

/** Between two faults, each a kill or a restart. */
const everyMs = 1000;
/** Node starts take a second each, and a cluster of 24 on two processors is late with all it does. */
const endMsMax = 300_000;

/**
 * Runs the faults and gives the verdict, with the number of kills. More agents die at once than there
 * are copies, so all are started again before the end: what only the dead knew comes back with them.
 */
export async function randomFaults(
  t: { after(clean: () => Promise<void>): void },
  { agents, seconds, seed }: RandomFaults,
): Promise<{ verdict: Verdict; kills: number; cluster: Cluster }> {
  const web = { seed, hosts: 6 * agents, pages: Math.max(8, Math.ceil(seconds / 4)), sparse: true };
  // With as many agents as this on few processors, heartbeats are late.
  const suspectAfterMs = Math.max(2000, 250 * agents);
  const timing = { heartbeatMs: Math.max(100, 20 * agents), suspectAfterMs, delayMs: 500 };
  const options = { agents, web, ...timing, threads: 16 };
  const { gate, cluster } = await gated(t, options);
  await cluster.startAll();
  const draw = randomOf(seed);
  let kills = 0;
  for (let k = 0; k < seconds; k++) {
    const living = cluster.living();
    const dead = cluster.ids.filter((id) => !living.includes(id));
    // At most half of them are away at a time: more would be a cluster that is not there.
    if (draw() < 0.6 && dead.length < agents / 2) {
      await cluster.kill(living[Math.floor(draw() * living.length)]!);
      kills++;
    } else if (dead.length > 0) {
      cluster.launch(dead[Math.floor(draw() * dead.length)]!);
    }
    await pause(everyMs);
  }
  const away = cluster.ids.filter((id) => !cluster.living().includes(id));
  await cluster.startAll(away);
  await Promise.all(cluster.ids.map((id) => cluster.joined(id)));
  gate.open();
  return { verdict: await cluster.finish(endMsMax), kills, cluster };
}

/** Numbers in [0, 1) that follow from a seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Nothing missing and no two at a host; each kill may cost what was open and not yet copied. */
export function assertSurvived({
  verdict,
  kills,
  cluster,
}: Awaited<ReturnType<typeof randomFaults>>): void {
  assertWhole(verdict, { overlapMax: 2 * cluster.threads * kills });
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { agents: text, seconds: text, seed: text } });
  const { agents = 24, seconds = 120, seed = Date.now() % 100_000 } = values;
  const faults = { agents: Number(agents), seconds: Number(seconds), seed: Number(seed) };
  process.stdout.write(`--agents ${agents} --seconds ${seconds} --seed ${seed}\n`);
  const cleanings: (() => Promise<void>)[] = [];
  try {
    const survived = await randomFaults({ after: (clean) => cleanings.push(clean) }, faults);
    const { judgement, ends } = survived.verdict;
    process.stdout.write(`${JSON.stringify({ kills: survived.kills, ...judgement }, null, 1)}\n`);
    process.stdout.write(`${ends.map(({ id, code, signal }) => `${id} ${code ?? signal}`)}\n`);
    assertSurvived(survived);
    process.stdout.write('complete, nothing missing, no two at a host\n');
  } finally {
    for (const clean of cleanings.toReversed()) await clean();
  }
}

if (import.meta.main) await main();
