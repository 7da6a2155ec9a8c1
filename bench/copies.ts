// The cost of copies: processor time and counts per page with one or more backups relative to none,
// and what takes the processor time. The same crawls as in `scale.ts`, without the single agent.
// node bench/copies.ts [--agents 2,4,8] [--foreign 0,10,30] [--backups 0,1] [--runs 3]
// [--hosts 200] [--pages 40000] [--client got] [--warc 0] [--json]
// Crawls without copies are always made, because the others are compared with them.

import { kindsOf, overNoCopy, type Series } from './cluster-cost.ts';
import { measureSeries, seriesFlags } from './cluster-series.ts';
import { UsageError, wholes } from './flags.ts';
import { command, type Report } from './report.ts';
import { spread } from './sample.ts';

/** Maximum cost of one copy relative to none. */
const ratioMax = 1.15;

const flags = { agents: wholes([2, 4, 8], 2, 64), ...seriesFlags };

await command('copies', flags, async (given): Promise<Report> => {
  const backups = [...new Set([0, ...given.backups])];
  const kinds = kindsOf({ ...given, backups });
  if (kinds.every((kind) => kind.backups === 0)) {
    const remedy = 'copies are at other agents; give at least 1 backup and more agents than that';
    throw new UsageError(`--backups ${given.backups} --agents ${given.agents}: ${remedy}`);
  }
  return measureSeries(given, kinds, verdicts);
});

function verdicts(all: readonly Series[]): string[] {
  return all
    .filter(({ backups }) => backups === 1)
    .map((one) => {
      const { median } = spread(overNoCopy(one, all));
      const word = median <= ratioMax ? 'holds' : 'missed';
      const cost = `${median.toFixed(2)} × none (at most ${ratioMax}: ${word})`;
      const share = `${one.foreign} % of the links to other hosts`;
      return `With ${share} and ${one.agents} agents, one copy costs ${cost}.`;
    });
}
