// The cost of a state with ten million URLs: one agent continues a crawl that knows this many, and
// one that knows ten thousand. It measures processor time per page over the same number of pages,
// memory over time, the time from the launch to the first request, and the bytes of the file per
// URL. The state is generated (`state-file.ts`), the crawl from it is real.
// node bench/state.ts [--hosts 100000] [--pages 100] [--crawl 4000] [--runs 1] [--json]

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { UsageError, whole } from './flags.ts';
import { launchedAgent } from './launched.ts';
import { killAtExit, temporaryDirectory } from './leftovers.ts';
import { loadNow } from './machine.ts';
import { runMetered } from './metered-process.ts';
import { freePort } from './ports.ts';
import { command, progress, type Report } from './report.ts';
import { spread, spreadText } from './sample.ts';
import { hostName, pathOf, startWideWeb, type WideWeb } from './state-web.ts';

const stateProgram = path.join(import.meta.dirname, 'state-file.ts');
/** Number of hosts in the state with which all others are compared. */
const fewHosts = 200;
const threads = 16;
/** The first pages do not count, while code is compiled and caches fill. */
const warmPages = 1000;
const waitMsMax = 120_000;
/** Ten million URLs take some minutes. */
const makeMsMax = 7_200_000;
const pollMs = 10;
/** Clock ticks of /proc: 100 a second wherever Linux runs Node.js. */
const tickMs = 10;

interface Run {
  readonly hosts: number;
  readonly cpuMs: number;
  readonly startMs: number;
  readonly rssMiB: number;
  readonly rssMiBMax: number;
}

const flags = {
  /** More than in the state of comparison, and no more than the web has addresses. */
  ...{ hosts: whole(100_000, fewHosts + 1), pages: 100 },
  /** With fewer the crawl ends before they can be told from requests already on their way. */
  ...{ crawl: whole(4000, 100), runs: 1 },
};

await command('state', flags, async (given) => {
  const most = fewHosts * (given.pages - fetchedOf(given.pages)) - warmPages;
  if (given.crawl > most) {
    const remedy = `the small web has ${Math.max(0, most)} to crawl; give fewer, or more --pages`;
    throw new UsageError(`--crawl ${given.crawl} --pages ${given.pages}: ${remedy}`);
  }
  const { directory, remove } = temporaryDirectory();
  const web = await startWideWeb(given.hosts, given.pages);
  try {
    return await measure(given, directory, web);
  } finally {
    await web.stop();
    remove();
  }
});

/** How many pages of a host are fetched before the crawl continues. */
function fetchedOf(pages: number): number {
  return Math.floor(pages * 0.6);
}

async function measure(
  given: Readonly<Record<'hosts' | 'pages' | 'crawl' | 'runs', number>>,
  directory: string,
  web: WideWeb,
): Promise<Report> {
  const sizes = [fewHosts, given.hosts];
  const bytes = new Map<number, number>();
  for (const hosts of sizes) {
    progress(`making a state of ${hosts * given.pages} URLs`);
    const at = path.join(directory, `of-${hosts}`, 'a1');
    bytes.set(hosts, await makeState(at, hosts, given.pages, web.port));
  }
  const runs: Run[] = [];
  for (let run = 1; run <= given.runs; run++) {
    for (const hosts of sizes) {
      runs.push(await goOn(directory, hosts, given.crawl, web));
      progress(`run ${run} of ${given.runs}, ${hosts} hosts: ${JSON.stringify(runs.at(-1))}`);
    }
  }
  return reportOf(runs, bytes, given.pages);
}

function reportOf(runs: readonly Run[], bytes: Map<number, number>, pages: number): Report {
  const rows = [...bytes].map(([hosts, size]) => {
    const mine = runs.filter((run) => run.hosts === hosts);
    const of = (get: (run: Run) => number) => spread(mine.map(get));
    const paths = Array.from({ length: pages }, (_, page) => pathOf(page).length);
    const mean = paths.reduce((sum, length) => sum + length, 0) / pages;
    return {
      urls: hosts * pages,
      cpuMs: of(({ cpuMs }) => cpuMs),
      startMs: of(({ startMs }) => startMs),
      rssMiB: of(({ rssMiB }) => rssMiB),
      rssMiBMax: of(({ rssMiBMax }) => rssMiBMax),
      bytesPerUrl: size / (hosts * pages),
      pathBytes: mean,
    };
  });
  const [few, many] = rows;
  const ratio = (many?.cpuMs.median ?? Number.NaN) / (few?.cpuMs.median ?? Number.NaN);
  return {
    tables: [
      {
        title: 'One agent, 16 threads, that goes on with a crawl, median (least-most):',
        columns: [
          'URLs known',
          'CPU ms a page',
          'first request (ms)',
          'memory (MiB)',
          'bytes a URL',
        ],
        rows: rows.map((row) => [
          row.urls.toLocaleString('en'),
          spreadText(row.cpuMs),
          spreadText(row.startMs, 0),
          `${spreadText(row.rssMiB, 0)}, most ${row.rssMiBMax.most.toFixed(0)}`,
          `${row.bytesPerUrl.toFixed(0)}, of which ${row.pathBytes.toFixed(0)} path`,
        ]),
      },
    ],
    remarks: [`CPU a page, many over few: ${ratio.toFixed(2)} (at most 1.3)`],
    figures: { rows, ratio },
  };
}

/**
 * Runs in its own process, because minutes of SQL would let no signal through. Returns the bytes of
 * the file.
 */
async function makeState(at: string, hosts: number, pages: number, port: number): Promise<number> {
  const numbers = [hosts, pages, fetchedOf(pages), port].map(String);
  const line = [process.execPath, stateProgram, at, 'scale', ...numbers] as const;
  const { failures } = await runMetered([{ command: line, cwd: import.meta.dirname }], makeMsMax);
  if (failures.length > 0) throw new Error(failures.join('; '));
  return fs.statSync(path.join(at, 'state.sqlite')).size;
}

/** Continues a crawl from a copy of its state for this many pages, then kills the agent. */
async function goOn(directory: string, hosts: number, crawl: number, web: WideWeb): Promise<Run> {
  const dataDir = path.join(directory, 'data');
  fs.rmSync(dataDir, { recursive: true, force: true });
  await fs.promises.cp(path.join(directory, `of-${hosts}`), dataDir, { recursive: true });
  const config = path.join(directory, 'crawl.json');
  const listenPort = await freePort();
  fs.writeFileSync(config, JSON.stringify(configOf(web.port, listenPort, dataDir)));
  const before = web.served;
  const launchedMs = performance.now();
  const { line, env, input } = launchedAgent(config, 'a1');
  const child = spawn(process.execPath, line, { stdio: ['pipe', 'ignore', 'inherit'], env });
  killAtExit(child);
  child.stdin.on('error', () => {}).end(input);
  try {
    await served(web, before + 1, child);
    const startMs = performance.now() - launchedMs;
    await served(web, before + warmPages, child);
    const from = { cpu: cpuMsOf(child), pages: web.served };
    let rssMiBMax = 0;
    for (let part = 1; part <= 20; part++) {
      await served(web, before + warmPages + (crawl * part) / 20, child);
      rssMiBMax = Math.max(rssMiBMax, rssMiBOf(child));
    }
    const cpuMs = (cpuMsOf(child) - from.cpu) / (web.served - from.pages);
    return { hosts, cpuMs, startMs, rssMiB: rssMiBOf(child), rssMiBMax };
  } finally {
    if (child.exitCode === null) {
      child.kill('SIGKILL');
      await once(child, 'close');
    }
    progress(`load ${loadNow()}`);
  }
}

async function served(web: WideWeb, pages: number, child: ChildProcess): Promise<void> {
  const endsAt = performance.now() + waitMsMax;
  while (web.served < pages) {
    if (child.exitCode !== null) throw new Error(`the agent ended with ${child.exitCode}`);
    if (performance.now() > endsAt) throw new Error(`${web.served} of ${pages} pages in time`);
    await pause(pollMs);
  }
}

/** User and system time of all threads. */
function cpuMsOf({ pid }: ChildProcess): number {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

function rssMiBOf({ pid }: ChildProcess): number {
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1] ?? Number.NaN) / 1024;
}

function configOf(port: number, listenPort: number, dataDir: string) {
  return {
    name: 'scale',
    seeds: [`http://${hostName(0)}:${port}${pathOf(0)}`],
    scope: { hosts: ['*'] },
    politeness: { hostDelayMs: 0 },
    http: { userAgent: 'bench (+https://example.org/)', allowPrivateAddresses: true },
    cluster: { agents: [{ id: 'a1', listen: `tcp://127.0.0.1:${listenPort}` }], backups: 0 },
    agent: { threads, dataDir },
  };
}
