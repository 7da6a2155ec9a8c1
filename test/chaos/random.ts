// Random faults, run manually for any time, with the seed that a failure printed:
// node test/chaos/random.ts --seconds 600 --seed 7 [--agents 5]
// node test/chaos/random.ts --faults cut,link --seconds 60 --seed 7
// node test/chaos/random.ts --faults kills --agents 24 --seconds 120 --seed 7
// The first command draws faults of all kinds (processes, networks, clocks and disks), and 3 to 7
// agents by default. The first line of the output names the kinds that the machine does not
// support. The second draws only the given kinds. The third kills and restarts once a second.
// process-random.test.ts runs smaller versions of the first and the third.

import { parseArgs } from 'node:util';
import type { Finding } from '../web/judge.ts';
import { assertStormSurvived, storm } from './storm.ts';
import { without } from './storm-ground.ts';
import { assertKillsSurvived, killStorm } from './storm-kills.ts';
import { type FaultKind, weights } from './storm-plan.ts';
import { costsOf } from './storm-promises.ts';

interface Given {
  readonly seed: number;
  readonly seconds: number;
  readonly agents: number | undefined;
  /** Undefined: all kinds. */
  readonly kinds: readonly FaultKind[] | undefined;
}

interface Cleaning {
  after(clean: () => Promise<void>): void;
}

const programs = {
  async all(t: Cleaning, given: Given): Promise<void> {
    const survived = await storm(t, { ...given, say });
    const { verdict, judgement, cluster, shape, faults, shareThen } = survived;
    const counts = Object.entries(Object.groupBy(faults, ({ kind }) => kind));
    say(counts.map(([kind, list]) => `${kind} ${list.length}`).join(', '));
    const allowed = costsOf(faults, cluster);
    report({ ...shape, shareThen, ...allowed });
    report({ ...survived.counts });
    report({ ...verdict.judgement });
    report({ ...judgement, straysBeside: survived.straysBeside });
    assertStormSurvived(survived);
  },

  async kills(t: Cleaning, { agents = 24, ...given }: Given): Promise<void> {
    const survived = await killStorm(t, { agents, ...given });
    const { judgement, ends } = survived.verdict;
    report({ kills: survived.kills, ...judgement });
    say(`${ends.map(({ id, code, signal }) => `${id} ${code ?? signal}`)}`);
    assertKillsSurvived(survived);
  },
};

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** @param names - separated by commas */
function kindsOf(names: string): FaultKind[] {
  return names.split(',').map((name) => {
    const kind = (Object.keys(weights) as FaultKind[]).find((one) => one === name);
    if (kind === undefined) throw new RangeError(`--faults: all, kills or ${Object.keys(weights)}`);
    return kind;
  });
}

/** Prints one line. For a finding it gives the count and the first samples. */
function report(figures: Readonly<Record<string, unknown>>): void {
  say(
    Object.entries(figures)
      .map(([name, figure]) => `${name} ${text(figure)}`)
      .join(', '),
  );
}

function text(figure: unknown): string {
  if (typeof figure === 'number') return String(Math.round(figure * 1000) / 1000);
  if (typeof figure !== 'object' || figure === null) return String(figure);
  const { count, samples } = figure as Finding;
  return count === 0 ? '0' : `${count} (${samples.join(' ')})`;
}

async function main(): Promise<void> {
  const flag = { type: 'string' } as const;
  const options = { faults: flag, agents: flag, seconds: flag, seed: flag };
  const {
    faults = 'all',
    agents,
    seconds = 120,
    seed = Date.now() % 100_000,
  } = parseArgs({
    options,
  }).values;
  const program = faults === 'kills' ? 'kills' : 'all';
  const given = {
    seed: Number(seed),
    seconds: Number(seconds),
    agents: agents === undefined ? undefined : Number(agents),
    kinds: program === 'kills' || faults === 'all' ? undefined : kindsOf(faults),
  };
  const size = agents === undefined ? '' : ` --agents ${agents}`;
  const lacking = program === 'all' ? without() : '';
  say(`--faults ${faults}${size} --seconds ${seconds} --seed ${seed}${lacking}`);
  const cleanings: (() => Promise<void>)[] = [];
  try {
    await programs[program]({ after: (clean) => cleanings.push(clean) }, given);
    say('the crawl is complete, no page is missing, and agents that see each other share no host');
  } finally {
    for (const clean of cleanings.toReversed()) await clean();
  }
}

if (import.meta.main) await main();
