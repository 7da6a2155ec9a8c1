// The cost of slow hosts for the others. It compares, alternately, a crawl in which a third of the
// hosts takes five seconds for each answer with one in which they answer at once. It reports, for
// the other hosts only, the time from first to last page, and the time between the end of a request
// and the next one, which is the delay plus any other wait.
// node bench/head-of-line.ts [--hosts 60] [--pages 40] [--slow-ms 5000] [--threads 64]
// [--delay 300] [--rounds 3] [--json]
// test/integration/head-of-line.test.ts tests by counts that slow hosts cost nothing.

import fs from 'node:fs';
import path from 'node:path';
import { threadsMax, whole } from './flags.ts';
import { temporaryDirectory } from './leftovers.ts';
import { loadNow } from './machine.ts';
import { runMetered } from './metered-process.ts';
import { freePort } from './ports.ts';
import { command, progress, type Report } from './report.ts';
import { figureText, ratios, spread, spreadText } from './sample.ts';
import { type Asked, startSlowWeb } from './slow-web.ts';

const flags = {
  /** A third of them is slow. Each has an address of one network. */
  hosts: whole(60, 3, 254),
  pages: 40,
  /** An agent waits ten seconds for an answer. */
  'slow-ms': whole(5000, 0, 9000),
  threads: whole(64, 1, threadsMax),
  delay: whole(300, 0),
  rounds: 3,
};
type Given = Readonly<Record<keyof typeof flags, number>>;

/** The first page and another one, each with its wait, after a robots.txt that takes as long. */
const slowPages = 2;
const crawlMsMax = 120_000;
const main = path.resolve(import.meta.dirname, '../agent/main.ts');

interface Crawl {
  /** From the first request at a fast host to the last answer there. */
  readonly seconds: number;
  /** From an answer of a fast host to the next request there. */
  readonly gapsMs: readonly number[];
  readonly load: number;
}

await command('head-of-line', flags, async (given): Promise<Report> => {
  const calm: Crawl[] = [];
  const slow: Crawl[] = [];
  for (let round = 1; round <= given.rounds; round++) {
    for (const [title, list, waitMs] of inTurn(round, calm, slow, given['slow-ms'])) {
      const crawl = await crawlOnce(given, waitMs);
      list.push(crawl);
      const { seconds, load } = crawl;
      progress(`${title}: the fast hosts took ${seconds.toFixed(2)} s, load ${load}`);
    }
  }
  const row = (title: string, crawls: readonly Crawl[]) => {
    const gaps = spread(crawls.flatMap(({ gapsMs }) => gapsMs));
    const seconds = spread(crawls.map((one) => one.seconds));
    const figures = [spreadText(seconds), figureText(gaps.median, 0), figureText(gaps.p95, 0)];
    return [title, ...figures, crawls.map(({ load }) => load).join(' ')];
  };
  const over = spread(ratios(slow.map(secondsOf), calm.map(secondsOf)));
  const columns = ['', 'seconds', 'gap ms, median', 'p95', 'loads'];
  const title = `The ${fastHosts(given)} fast hosts, ${given.delay} ms of delay:`;
  const rows = [row('all answer at once', calm), row('a third is slow', slow)];
  return {
    tables: [{ title, columns, rows }],
    remarks: [`Beside slow hosts the others take ${spreadText(over)} × as long.`],
    figures: { calm, slow, over },
  };
});

/** Every other round in reverse order, so that a drift of the machine favours none. */
function inTurn(round: number, calm: Crawl[], slow: Crawl[], slowMs: number) {
  const both = [['at once', calm, 0] as const, ['slow', slow, slowMs] as const];
  return round % 2 === 1 ? both : both.toReversed();
}

function secondsOf({ seconds }: Crawl): number {
  return seconds;
}

function fastHosts({ hosts }: Given): number {
  return hosts - Math.floor(hosts / 3);
}

async function crawlOnce(given: Given, waitMs: number): Promise<Crawl> {
  const { hosts, pages, threads, delay } = given;
  const slowHosts = hosts - fastHosts(given);
  const patience = () => new Promise<void>((resolve) => setTimeout(resolve, waitMs));
  const web = await startSlowWeb({ hosts, slowHosts, pages, slowPages, patience });
  const { directory, remove } = temporaryDirectory();
  try {
    const port = await freePort();
    const file = path.join(directory, 'crawl.json');
    const config = {
      ...{ name: 'bench', seeds: web.seeds, politeness: { hostDelayMs: delay } },
      http: { userAgent: 'bench (+https://example.org/)', allowPrivateAddresses: true },
      cluster: { agents: [{ id: 'a1', listen: `tcp://127.0.0.1:${port}` }] },
      agent: { threads, dataDir: path.join(directory, 'data') },
    };
    fs.writeFileSync(file, JSON.stringify(config));
    const load = loadNow();
    const program = [process.execPath, main, 'agent', file, '--id', 'a1'] as const;
    const { failures } = await runMetered([{ command: program, cwd: directory }], crawlMsMax);
    if (failures.length > 0) throw new Error(failures.join('; '));
    const fast = web.asked.filter(({ address }) => !web.isSlow(address));
    const expected = fastHosts(given) * (pages + 1);
    if (fast.length !== expected) throw new Error(`${fast.length} of ${expected} requests`);
    return { ...measured(fast), load };
  } finally {
    await web.stop();
    remove();
  }
}

function measured(asked: readonly Asked[]): Omit<Crawl, 'load'> {
  const endOf = ({ endMs }: Asked) => endMs ?? Number.NaN;
  const first = Math.min(...asked.map(({ startMs }) => startMs));
  const last = Math.max(...asked.map(endOf));
  const gapsMs = [...Map.groupBy(asked, ({ address }) => address).values()].flatMap((one) =>
    one.slice(1).map((next, k) => next.startMs - endOf(one[k]!)),
  );
  return { seconds: (last - first) / 1000, gapsMs };
}
