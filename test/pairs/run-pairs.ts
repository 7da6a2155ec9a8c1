// Runs the pair suite manually or in CI: one crawl for each row of a covering array of web
// behaviours and config keys. For each failed case it prints the command that replays it.

import { parseArgs } from 'node:util';
import { coveringArray } from './covering-array.ts';
import { excluded, factors } from './factors.ts';
import { runPairCase } from './pair-case.ts';

/**
 * First two bytes of the addresses, which no other web uses. The third is the number of the case.
 */
const addressNet = '127.58';
/** As many as fit into one byte of an address. */
const casesMax = 250;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    case: { type: 'string' },
    cases: { type: 'string', default: String(casesMax) },
    jobs: { type: 'string', default: '2' },
  },
});
const seed = Number(values.seed);
const rows = coveringArray(seed, factors, excluded).slice(
  0,
  Math.min(Number(values.cases), casesMax),
);
const numbered = [...rows.entries()].filter(
  ([number]) => values.case === undefined || number === Number(values.case),
);
if (numbered.length === 0) throw new Error(`there are the cases 0 to ${rows.length - 1}`);

let passed = 0;
let failed = 0;
const queue = numbered.values();

async function work(): Promise<void> {
  for (const [number, row] of queue) {
    const began = performance.now();
    const faults = await runPairCase(row, `${addressNet}.${number + 1}`).catch((error: unknown) => [
      String(error),
    ]);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    const what = Object.entries(row).map(([factor, level]) => `${factor}=${level}`);
    console.log(
      `${faults.length === 0 ? 'ok' : 'FAILED'} ${number} (${seconds} s) ${what.join(' ')}`,
    );
    if (faults.length === 0) {
      passed++;
      continue;
    }
    failed++;
    for (const fault of faults) console.log(`  ${fault}`);
    console.log(`  node test/pairs/run-pairs.ts --seed ${seed} --case ${number}`);
  }
}

await Promise.all(Array.from({ length: Number(values.jobs) }, work));
console.log(`${passed} passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;
