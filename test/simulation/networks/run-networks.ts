// Runs any number of seeds of the networks, manually or in CI. For each seed that fails it prints
// the command that replays it. `--without RULE` removes a rule of the protocol
// (network-mutations.ts), to see whether the checkers notice.

import { parseArgs } from 'node:util';
import { LATE_COMMANDS } from './late-commands.ts';
import { isNetworkRule, NETWORK_RULES, withoutRule } from './network-mutations.ts';
import { NETWORK_KINDS, runNetworks } from './network-swarm.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    kind: { type: 'string' },
    without: { type: 'string' },
    /** Ends after this many bad runs. */
    bad: { type: 'string', default: '1000000' },
  },
});
const kinds = NETWORK_KINDS.filter((kind) => values.kind === undefined || kind === values.kind);
const rule = isNetworkRule(values.without) ? values.without : null;
if (kinds.length === 0 || (values.without !== undefined && !rule)) {
  console.error(`kinds: ${NETWORK_KINDS.join(', ')}\nrules: ${NETWORK_RULES.join(', ')}`);
  process.exit(2);
}
const restore = rule ? withoutRule(rule) : () => {};
let [runs, bad, requests, duplicates, given, commands] = [0, 0, 0, 0, 0, 0];
for (const [name, run] of Object.entries(LATE_COMMANDS)) {
  const harm = values.kind === undefined ? await run() : null;
  if (harm === null) continue;
  bad++;
  console.log(`late-commands.ts, ${name}: ${harm}`);
}
const first = Number(values.seed);
for (let seed = first; seed < first + Number(values.runs) && bad < Number(values.bad); seed++) {
  for (const kind of kinds) {
    const run = await runNetworks(seed, kind);
    runs++;
    requests += run.requests;
    duplicates += run.duplicates;
    given += run.given;
    for (const n of run.commands.values()) commands += n;
    if (run.violations.length === 0) continue;
    bad++;
    const removed = rule ? ` --without ${rule}` : '';
    console.log(
      `node test/simulation/networks/run-networks.ts --runs 1 --seed ${seed} --kind ${kind}${removed}`,
    );
    console.log(`  ${run.violations.length}: ${run.violations[0]!.slice(0, 1500)}`);
  }
}
restore();
console.log(
  `${runs} runs, ${requests} requests, ${duplicates} pages twice, ${given} given, ${commands} commands, ${bad} bad`,
);
if (bad > 0) process.exitCode = 1;
