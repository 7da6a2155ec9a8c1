// Runs the operations by hand and in CI: one sequence for each seed. For a failed sequence it
// prints the steps and the command that repeats it.

import { parseArgs } from 'node:util';
import { runOperations } from './operations.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    runs: { type: 'string', default: '20' },
    jobs: { type: 'string', default: '2' },
  },
});
const first = Number(values.seed);
const seeds = Array.from({ length: Number(values.runs) }, (_, k) => first + k).values();
let failed = 0;

async function work(): Promise<void> {
  for (const seed of seeds) {
    const began = performance.now();
    const fault = await runOperations(seed);
    const took = `${((performance.now() - began) / 1000).toFixed(1)} s`;
    console.log(fault === null ? `ok ${seed} (${took})` : `FAILED ${seed} (${took})\n${fault}`);
    if (fault === null) continue;
    failed++;
    console.log(`  node test/operations/run-operations.ts --runs 1 --seed ${seed}`);
  }
}

await Promise.all(Array.from({ length: Number(values.jobs) }, work));
console.log(`${values.runs} runs, ${failed} failed`);
if (failed > 0) process.exitCode = 1;
