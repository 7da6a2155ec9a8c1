// How long a fetched page could be lost with its agent: from the end of its response until it is
// settled, and then until all its backups have it. A kill costs the pages in between. The lower
// rows show where the time goes: the round trips of URLs and rows, one at a time to each peer, and
// the time that an answer waits for the disk.
// node bench/settle.ts [--agents 4] [--runs 3] [--hosts 40] [--pages 30] [--delay 50] [--json]

import { hostsMax } from '../test/web/options.ts';
import { crawlOnce } from './cluster-run.ts';
import type { CrawlFigures } from './crawl-figures.ts';
import { threadsMax, UsageError, whole, zeroOrOne } from './flags.ts';
import type { PageTimes } from './probe-pages.ts';
import { command, progress, type Report } from './report.ts';
import { figureText, spread } from './sample.ts';

const flags = {
  ...{ agents: whole(4, 1, 64), backups: whole(1, 0, 16), runs: 3 },
  ...{ hosts: whole(40, 1, hostsMax), pages: 30, delay: whole(50, 0) },
  threads: whole(16, 1, threadsMax),
  /** 1: commits survive a power loss, as by default; 0: only a crash of the process. */
  power: zeroOrOne(1),
};

type Times = Exclude<keyof PageTimes, 'turns'>;

const shown: readonly (readonly [Times, string])[] = [
  ['safeMs', 'page: fetched to copied'],
  ['settledMs', '  fetched to settled'],
  ['recordedMs', '    fetched to recorded (parsing)'],
  ['copiedMs', '  settled to copied'],
  ['urlsMs', 'URLS to its answer'],
  ['inboxMs', '  at the owner, until its backups answered'],
  ['rowsMs', 'ROWS to its answer'],
  ['heldMs', '  an answer waits for the disk'],
  ['syncMs', '  a commit that reaches the disk'],
];

await command('settle', flags, async (given): Promise<Report> => {
  if (given.backups >= given.agents) {
    const remedy = 'copies are at other agents; give fewer backups, or more agents';
    throw new UsageError(`--backups ${given.backups} --agents ${given.agents}: ${remedy}`);
  }
  const runs: CrawlFigures[] = [];
  const { agents, backups, hosts, pages, delay: delayMs, threads } = given;
  const durability = given.power === 1 ? 'power' : 'process';
  for (let run = 1; run <= given.runs; run++) {
    const one = await crawlOnce(
      { hosts, pages },
      { agents, backups, delayMs, threads, durability, follow: 'pages' },
    );
    progress(`run ${run}: ${one.pages} pages in ${one.seconds.toFixed(1)} s, load ${one.load}`);
    runs.push(one);
  }
  const all = (of: Times) => runs.flatMap((run) => run.agents.flatMap((a) => a.pages?.[of] ?? []));
  const figures = Object.fromEntries(shown.map(([of]) => [of, spread(all(of))]));
  const rows = shown.map(([of, title]) => {
    const { count, median, p95, most } = spread(all(of));
    return [title, String(count), ...[median, p95, most].map((ms) => figureText(ms, 1))];
  });
  const seconds = runs.reduce((s, run) => s + run.seconds, 0);
  const rate = runs.reduce((s, run) => s + run.pages, 0) / seconds;
  const safe = all('safeMs');
  const atRisk = safe.length === 0 ? Number.NaN : sumOf(safe) / 1000 / seconds / agents;
  return {
    tables: [
      {
        title: `Milliseconds, ${agents} agents, ${backups} backups, durability ${durability}:`,
        columns: ['', 'count', 'median', 'p95', 'most'],
        rows,
      },
    ],
    remarks: [
      `${rate.toFixed(0)} pages a second together, loads ${runs.map(({ load }) => load).join(', ')}`,
      `Pages of one agent that are not safe yet, on average over a crawl: ${figureText(atRisk, 1)}.`,
    ],
    // Without backups no copies are expected.
    lacking: safe.length === 0 && backups > 0 ? ['No page was seen to be copied.'] : [],
    figures: { ...figures, pagesPerSecond: rate, atRisk, loads: runs.map(({ load }) => load) },
  };
});

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
