// The cost of a cluster relative to one agent: more and more agents crawl the same webs, and it
// reports processor time and counts per page, and what takes the processor time. Messages must not
// grow with the number of agents: beyond a few agents nearly every link to another host already goes
// to another agent, and only the number of messages that share the links of a page grows.
// node bench/scale.ts [--agents 1,2,4,8] [--foreign 0,10,30] [--backups 0,1] [--runs 3]
// [--hosts 200] [--pages 40000] [--client got] [--warc 0] [--json]
// One agent without copies is always crawled, because the others are compared with it.

import { kindsOf, overOneAgent, type Series, titleOf } from './cluster-cost.ts';
import { measureSeries, seriesFlags } from './cluster-series.ts';
import { wholes } from './flags.ts';
import { command, type Report } from './report.ts';
import { spread } from './sample.ts';

/** Maximum CPU per page relative to one agent. */
const targets = [
  { agents: 2, backups: 1, most: 1.3 },
  { agents: 4, backups: 0, most: 1.15 },
  { agents: 4, backups: 1, most: 1.5 },
  { agents: 8, backups: 1, most: 1.6 },
];

const flags = { agents: wholes([1, 2, 4, 8], 1, 64), ...seriesFlags };

await command('scale', flags, async (given): Promise<Report> => {
  const { foreign } = given;
  const base = kindsOf({ foreign, agents: [1], backups: [0] });
  const others = kindsOf(given).filter(({ agents }) => agents > 1);
  const kinds = foreign.flatMap((share) =>
    [...base, ...others].filter((kind) => kind.foreign === share),
  );
  return measureSeries(given, kinds, verdicts);
});

function verdicts(all: readonly Series[]): string[] {
  return all.flatMap((one) => {
    const target = targets.find((of) => of.agents === one.agents && of.backups === one.backups);
    if (!target) return [];
    const { median } = spread(overOneAgent(one, all));
    const word = median <= target.most ? 'holds' : 'missed';
    return `${titleOf(one)}: ${median.toFixed(2)} × one agent (at most ${target.most}: ${word}).`;
  });
}
