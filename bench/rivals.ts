// Compares ubiring with other crawlers and with the bare loop of its libraries, on one machine and
// one web. All crawl the same pages from the same seed, one after the other, in several rounds. A
// crawl gets a figure only if it fetched every page according to the server's log. Missing rivals
// are skipped and named; those from npm are installed first, into `bench/rivals`.
// node bench/rivals.ts [--rounds 3] [--pages 10000] [--hosts 200] [--threads 64]
// [--only ubiring-1,bare-got] [--install 1] [--write 0] [--json]
// `--write 1` writes the result into docs/BENCHMARKS.md and docs/benchmarks.svg. Exits with 1 if
// ubiring or a bare loop did not fetch every page.

import fs from 'node:fs';
import path from 'node:path';
import { barChart } from './chart.ts';
import type { Series } from './comparison.ts';
import {
  bySpeed,
  type Crawl,
  comparisonTable,
  cpuPerPage,
  limitTable,
  pageTables,
  targetTable,
} from './comparison.ts';
import { type Contender, contenders } from './contenders.ts';
import { commandLine, threadsMax, UsageError, whole, zeroOrOne } from './flags.ts';
import { temporaryDirectory } from './leftovers.ts';
import { loadNow, machine, machineLine } from './machine.ts';
import { runMetered, type Used } from './metered-process.ts';
import { type Served, type ServerKind, serverHere, startServer } from './plain-server.ts';
import { PlainWeb } from './plain-web.ts';
import { freePort } from './ports.ts';
import { command, markdownTable, progress, type Report, replaceSection } from './report.ts';
import { spread } from './sample.ts';

const flags = {
  rounds: 3,
  /** With one page nothing would remain without the start. */
  pages: whole(10_000, 2),
  hosts: whole(200, 1, 254),
  ...{ bytes: 20_500, threads: whole(64, 1, threadsMax) },
  /** Names of contenders; all by default. */
  only: '',
  install: zeroOrOne(1),
  write: zeroOrOne(0),
};

/** The slowest takes some four minutes for 10,000 pages on a busy machine. */
const crawlMsMax = 900_000;
const installMsMax = 600_000;

interface Stage {
  readonly web: PlainWeb;
  readonly root: string;
}

await command('rivals', flags, async (given): Promise<Report> => {
  const { rounds, pages, hosts, bytes: bodyBytes, threads } = given;
  if (pages % hosts !== 0) {
    throw new UsageError(`--pages ${pages} --hosts ${hosts}: pages must be a multiple of hosts`);
  }
  const named = choose(given.only);
  if (given.install === 1 && named.some(({ missing }) => missing() !== null)) await installRivals();
  const chosen = named.filter(isHere);
  const server = serverHere();
  const on = machine();
  const { directory, remove } = temporaryDirectory();
  try {
    const port = await freePort();
    const whole = stage(new PlainWeb({ hosts, pages, bodyBytes }, port), directory);
    const one = stage(new PlainWeb({ hosts: 1, pages: 1, bodyBytes }, port), directory);
    const all = chosen.map((contender) => ({ contender, series: seriesOf(contender) }));
    for (let round = 1; round <= rounds; round++) {
      // Every other round in reverse order, so that a drift of the machine favours none.
      for (const { contender, series } of round % 2 === 1 ? all : all.toReversed()) {
        await measure(contender, series, { whole, one, directory, server, threads });
      }
    }
    const series = all.map((entry) => entry.series);
    const tables = [comparisonTable(series, pages), targetTable(series), limitTable(series)].filter(
      ({ rows }) => rows.length > 0,
    );
    const setting =
      `${pages} pages of ${Math.round(whole.bytesPerPage / 102.4) / 10} KiB on ${hosts} hosts, ` +
      `served by ${server}; ${threads} requests at a time; ${rounds} rounds.`;
    const remarks = [setting, ...series.flatMap(({ failures }) => failures)];
    const lacking = series.every(({ crawls }) => crawls.every((crawl) => crawl === null))
      ? ['Nothing was measured: no crawler that was asked for is here and fetched every page.']
      : [];
    // A rival may miss a page or two, but the programs of this project must not.
    if (series.some(({ id, failures }) => /^(ubiring|bare)/.test(id) && failures.length > 0)) {
      process.exitCode = 1;
    }
    if (given.write === 1 && lacking.length === 0) {
      const line = commandLine('rivals', flags, given);
      write(series, pages, [line, machineLine(on)], remarks);
    }
    return { tables, remarks, lacking, figures: series };
  } finally {
    remove();
  }
});

function stage(web: PlainWeb, directory: string): Stage & { readonly bytesPerPage: number } {
  const root = path.join(directory, `web-${web.size.pages}`);
  return { web, root, ...web.write(root) };
}

/** All contenders, or the named ones. */
function choose(only: string): readonly Contender[] {
  if (only === '') return contenders;
  const names = only.split(',').filter((name) => name !== '');
  const unknown = names.filter((name) => !contenders.some(({ id }) => id === name));
  if (unknown.length > 0 || names.length === 0) {
    const known = contenders.map(({ id }) => id).join(', ');
    const what = unknown.length > 0 ? `no crawler is named ${unknown.join(', ')}` : 'names none';
    throw new UsageError(`--only ${only}: ${what}; there are ${known}`);
  }
  return contenders.filter(({ id }) => names.includes(id));
}

function isHere({ title, missing }: Contender): boolean {
  const lacks = missing();
  if (lacks !== null) progress(`${title}: left out, ${lacks}`);
  return lacks === null;
}

function seriesOf({ id, title, keeps }: Contender): Series {
  return { id, title, keeps, crawls: [], failures: [] };
}

/**
 * Installs from the registry only, without scripts. Contenders that cannot be installed are
 * skipped. It does not use `npm ci`, because with some versions of npm a lock file lacks the
 * platforms that spider-rs does not support.
 */
async function installRivals(): Promise<void> {
  const cwd = path.join(import.meta.dirname, 'rivals');
  if (fs.existsSync(path.join(cwd, 'node_modules/.package-lock.json'))) return;
  progress('installing the rivals of npm');
  const line = ['npm', 'install', '--no-save', '--ignore-scripts', '--no-audit'] as const;
  const { failures } = await runMetered([{ command: line, cwd }], installMsMax);
  if (failures.length > 0) progress(`in bench/rivals ${failures.join('; ')}`);
}

interface Setting {
  readonly whole: Stage;
  readonly one: Stage;
  readonly directory: string;
  readonly server: ServerKind;
  readonly threads: number;
}

/** One crawl of one page, and one of all pages. */
async function measure(contender: Contender, series: Series, setting: Setting): Promise<void> {
  try {
    const start = await crawl(contender, setting.one, setting);
    const load = loadNow();
    const { used, served } = await crawl(contender, setting.whole, setting);
    const { cpuMs, rssBytesMax } = used;
    const { seconds, requests } = served;
    const done: Crawl = {
      ...{ cpuMs, rssBytesMax, seconds, requests, load },
      startCpuMs: start.used.cpuMs,
    };
    series.crawls.push(done);
    const { pages } = setting.whole.web.size;
    progress(
      `${contender.title}: ${(cpuMs / pages).toFixed(2)} ms a page, ` +
        `${(pages / seconds).toFixed(0)} pages/s, load ${load}`,
    );
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    series.crawls.push(null);
    series.failures.push(`${contender.title}: no figure, ${why}`);
    progress(`${contender.title}: no figure, ${why}`);
  }
}

/** Throws if a page is missing or a program failed. */
async function crawl(
  contender: Contender,
  { web, root }: Stage,
  { directory, server, threads }: Setting,
): Promise<{ used: Used; served: Served }> {
  const scratch = fs.mkdtempSync(path.join(directory, 'server-'));
  const kept = fs.mkdtempSync(path.join(directory, 'crawl-'));
  const hosts = web.addresses.map((address) => `http://${address}:${web.port}/`);
  try {
    const programs = await contender.programs({
      ...{ directory: kept, seed: web.seed, hosts, threads },
    });
    const running = await startServer(server, root, web.port, scratch);
    let served: Served | undefined;
    let used: Used | undefined;
    try {
      used = await runMetered(programs, crawlMsMax);
    } finally {
      served = await running.stop();
    }
    if (used.failures.length > 0) throw new Error(used.failures.join('; '));
    const missing = [...web.places()].filter((place) => !served.places.has(place)).length;
    if (missing > 0) throw new Error(`${missing} of ${web.size.pages} pages were never fetched`);
    return { used, served };
  } finally {
    for (const one of [scratch, kept]) fs.rmSync(one, { recursive: true, force: true });
  }
}

function write(
  series: readonly Series[],
  pages: number,
  [line, on]: readonly [string, string],
  remarks: readonly string[],
): void {
  const docs = path.resolve(import.meta.dirname, '../docs');
  const bars = bySpeed(series, pages).flatMap((one) => {
    const speeds = cpuPerPage(one, pages).map((ms) => 1000 / ms);
    if (speeds.length === 0) return [];
    const { median: value, least, most } = spread(speeds);
    return [{ title: one.title, value, least, most, isOwn: one.id.startsWith('ubiring') }];
  });
  fs.writeFileSync(
    path.join(docs, 'benchmarks.svg'),
    barChart('Pages per core-second: more is faster', bars),
  );
  const page = path.join(docs, 'BENCHMARKS.md');
  const intro = `\`${line}\`; ${on}. ${remarks[0]}`;
  const parts = [intro, ...pageTables(series, pages).map(markdownTable), ...remarks.slice(1)];
  fs.writeFileSync(
    page,
    replaceSection(fs.readFileSync(page, 'utf8'), 'rivals', parts.join('\n\n')),
  );
}
