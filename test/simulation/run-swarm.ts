// Runs any number of seeds of the swarm on several threads, manually or in CI. For each seed that
// fails it prints the command that replays it. `--without RULE` removes a rule of the protocol
// (mutations.ts), to see whether the checkers notice.

import { setImmediate as immediately } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { isRule, OVERLAY_RULES, RULES, type Rule, without } from './mutations.ts';
import { KINDS, type Kind, type OverlayName } from './plan.ts';
import { runSwarm } from './swarm.ts';

/** A long run prints its progress after this many runs. */
const TOLD_EVERY = 1000;

interface Share {
  readonly seeds: readonly number[];
  readonly kinds: readonly Kind[];
  readonly rule: Rule | null;
  readonly overlay: OverlayName;
}

interface Ran {
  readonly seed: number;
  readonly kind: Kind;
  readonly requests: number;
  readonly violations: readonly string[];
}

export function replay(seed: number, kind: Kind, rule: Rule | null = null): string {
  const removed = rule ? ` --without ${rule}` : '';
  return `node test/simulation/run-swarm.ts --runs 1 --seed ${seed} --kind ${kind}${removed}`;
}

async function runShare(
  { seeds, kinds, rule, overlay }: Share,
  tell: (ran: Ran) => void,
): Promise<void> {
  for (const seed of seeds) {
    for (const kind of kinds) {
      const run = () => runSwarm(seed, kind, overlay);
      const { requests, violations } = rule ? without(rule, run) : run();
      tell({ seed, kind, requests, violations });
      // Node.js frees the memory of the databases only between two of its own turns.
      await immediately();
    }
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '300' },
      seed: { type: 'string', default: '1' },
      kind: { type: 'string' },
      jobs: { type: 'string', default: '1' },
      without: { type: 'string' },
      overlay: { type: 'string', default: 'ring' },
    },
  });
  const kinds = KINDS.filter((kind) => values.kind === undefined || kind === values.kind);
  const rule = isRule(values.without) ? values.without : null;
  const overlay: OverlayName = values.overlay === 'kademlia' ? 'kademlia' : 'ring';
  if (kinds.length === 0 || (values.without !== undefined && !rule)) {
    console.error(`kinds: ${KINDS.join(', ')}\nrules: ${[...RULES, ...OVERLAY_RULES].join(', ')}`);
    process.exitCode = 2;
    return;
  }
  const [first, runs, jobs] = [values.seed, values.runs, values.jobs].map(Number) as number[];
  let [bad, requests, done] = [0, 0, 0];
  const tell = (ran: Ran): void => {
    requests += ran.requests;
    done++;
    if (done % TOLD_EVERY === 0) console.error(`${done} runs`);
    if (ran.violations.length === 0) return;
    bad++;
    const [what = ''] = ran.violations;
    const command = `${replay(ran.seed, ran.kind, rule)} --overlay ${overlay}`;
    console.log(`${command}\n  ${ran.violations.length}: ${what.slice(0, 1500)}`);
  };
  const seeds = Array.from({ length: runs! }, (_, i) => first! + i);
  const shares = Array.from({ length: jobs! }, (_, j) => ({
    seeds: seeds.filter((_, i) => i % jobs! === j),
    ...{ kinds, rule, overlay },
  }));
  if (jobs === 1) await runShare(shares[0]!, tell);
  else await Promise.all(shares.map((share) => inWorker(share, tell)));
  console.log(`${done} runs, ${requests} requests, ${bad} bad`);
  if (bad > 0) process.exitCode = 1;
}

function inWorker(share: Share, tell: (ran: Ran) => void): Promise<void> {
  const worker = new Worker(new URL(import.meta.url), { workerData: share });
  worker.on('message', tell);
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('exit', () => resolve());
  });
}

if (!isMainThread) await runShare(workerData as Share, (ran) => parentPort!.postMessage(ran));
else if (import.meta.main) await main();
