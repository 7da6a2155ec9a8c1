// Measures the cost of the dashboard: `node bench/dashboard.ts`. A busy agent serves it itself. Windows with
// many open dashboards and one scrape a second alternate with windows without. The processor time of
// its processes, per page, is compared. Then its state file gets many hosts and URLs, and each list is
// requested.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { startHttp } from '../agent/cli/http/http-process.ts';
import { startWeb } from '../test/web/server.ts';
import { helpText, readFlags, UsageError, whole } from './flags.ts';
import { readConfig } from './launched.ts';
import { killAtExit, temporaryDirectory } from './leftovers.ts';
import { loadNow, machine, machineLine } from './machine.ts';
import { freePorts } from './ports.ts';
import { quantile, ratios, spread, spreadText } from './sample.ts';

const FLAGS = {
  clients: whole(50, 1, 200),
  hosts: whole(60, 1, 250),
  pages: whole(2000, 1),
  delay: whole(150, 0, 60_000),
  seconds: whole(15, 1, 600),
  rounds: whole(4, 1, 100),
  /** Hosts and URLs of the state whose lists are requested. */
  knownHosts: whole(100_000, 1, 1_000_000),
  urls: whole(10_000_000, 1, 100_000_000),
};
/** All dashboards are open, or closed, by then. */
const SETTLED_MS = 3000;
const main = path.resolve(import.meta.dirname, '../agent/main.ts');

/** Processor time so far, in ms, or of a page. */
interface Cpu {
  /** Of the agent and of all processes that it has started. */
  readonly all: number;
  /** Of these processes, which serve HTTP. */
  readonly server: number;
}

function cpuOf(agent: number): Cpu {
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const times = new Map(pids.map((pid) => [Number(pid), timesOf(pid)]));
  const isStarted = (pid: number): boolean => {
    const parent = times.get(pid)?.parent;
    return parent === agent || (parent !== undefined && isStarted(parent));
  };
  const server = [...times].reduce((sum, [pid, { ms }]) => sum + (isStarted(pid) ? ms : 0), 0);
  return { all: server + times.get(agent)!.ms, server };
}

function timesOf(pid: string): { readonly parent?: number; readonly ms: number } {
  let stat: string;
  try {
    stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    // It has ended.
    return { ms: 0 };
  }
  const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
  return { parent: Number(fields[1]), ms: (Number(fields[11]) + Number(fields[12])) * 10 };
}

/** One open dashboard: it reads the events and the states of the cluster. */
async function dashboard(url: string, signal: AbortSignal): Promise<void> {
  const { body } = await fetch(`${url}api/v1/events?state=true`, { signal });
  await body!.pipeTo(new WritableStream(), { signal });
}

async function fetched(url: string): Promise<number> {
  const text = await (await fetch(`${url}metrics`)).text();
  return Number(/^ubiring_fetched_pages_total\S* (\d+)/m.exec(text)?.[1]);
}

/** Processor time per page, while so many dashboards are open. */
async function windowOf(pid: number, url: string, clients: number, ms: number): Promise<Cpu> {
  const end = new AbortController();
  const opened = Array.from({ length: clients }, () =>
    dashboard(url, end.signal).catch((error: Error) => {
      if (error.name !== 'AbortError') throw error;
    }),
  );
  const scrapes = clients > 0 ? setInterval(() => void fetched(url), 1000) : undefined;
  await pause(SETTLED_MS);
  const [pages, before] = [await fetched(url), cpuOf(pid)];
  await pause(ms);
  const { all, server } = cpuOf(pid);
  const done = (await fetched(url)) - pages;
  clearInterval(scrapes);
  end.abort();
  await Promise.all(opened);
  if (done === 0) throw new Error('the crawl has ended: give more --pages');
  return { all: (all - before.all) / done, server: (server - before.server) / done };
}

const LISTS = [
  ...['hosts', 'hosts?sort=pages_queued', 'hosts?sort=pages_done', 'hosts?sort=delay_ms'],
  ...['hosts?sort=last_fetch_at', 'hosts?state=backing%20off', 'hosts?search=site12.'],
  ...['frontier?host=host7.site7.example', 'pages?host=host7.site7.example'],
  ...['skipped?host=host7.site7.example', 'pages?host=host7.site7.example&sort=fetched_at'],
  ...['pages?host=host7.site7.example&search=9', 'history', 'cluster', 'circle', 'directives'],
];
const LIST_RUNS = 20;
/** As in agent/storage/encoding/url-ids.ts. */
const SLOT_BITS = 28n;

/** Adds hosts with pages, queued and skipped URLs. */
function enlarge(file: string, hosts: number, urls: number): void {
  const db = new Database(file);
  db.pragma('synchronous = OFF');
  const host = db.prepare(
    `INSERT INTO host_rows (host, pages_done, queued, not_before, last_fetch_at, owned)
     VALUES (?, ?, ?, ?, ?, 1)`,
  );
  const url = db.prepare(
    'INSERT INTO urls (id, key, state, depth, found, done) VALUES (?, ?, ?, 1, ?, ?)',
  );
  const each = Math.ceil(urls / hosts);
  const now = Date.now();
  db.exec('BEGIN');
  for (let n = 0; n < hosts; n++) {
    const at = n % 11 === 0 ? null : now - n;
    const row = [(n * 31) % 500, (n * 17) % 300, n % 9 === 0 ? now + 60_000 : 0, at];
    const { lastInsertRowid } = host.run(`host${n}.site${n % 977}.example`, ...row);
    const first = BigInt(lastInsertRowid) << SLOT_BITS;
    for (let k = 0; k < each; k++) {
      const number = n * each + k;
      url.run(first + BigInt(k), `h/path/to/page-${k}.html`, [1, 0, 0, 3][k % 4], number, number);
    }
  }
  db.exec('COMMIT');
  db.close();
}

interface ListTimes {
  /** The 95th percentile of each list, in ms. */
  readonly lists: ReadonlyMap<string, number>;
  /** The longest turn of the server's event loop, in ms. */
  readonly turn: number;
}

async function listTimes(file: string): Promise<ListTimes> {
  const listen = { host: '127.0.0.1', port: 0 };
  const config = readConfig(file);
  process.execArgv.push('--import', path.join(import.meta.dirname, 'longest-turn.ts'));
  const http = startHttp({ config, listen, env: {}, version: '', onError: () => {} });
  if (typeof http === 'string') throw new Error(http);
  const url = await http.url;
  const times = new Map<string, number>();
  // The first request loads the code.
  await fetch(`${url}api/v1/hosts`);
  for (const list of LISTS) {
    const took: number[] = [];
    for (let run = 0; run < LIST_RUNS; run++) {
      const startedAt = performance.now();
      const answer = await fetch(`${url}api/v1/${list}`);
      if (!answer.ok) throw new Error(`${list}: ${await answer.text()}`);
      await answer.arrayBuffer();
      took.push(performance.now() - startedAt);
    }
    times.set(
      list,
      quantile(
        took.sort((a, b) => a - b),
        0.95,
      ),
    );
  }
  const { headers } = await fetch(`${url}healthz`);
  http.close();
  return { lists: times, turn: Number(headers.get('longest-turn-ms')) };
}

async function urlOf(agent: ChildProcess): Promise<string> {
  let said = '';
  for await (const part of agent.stderr!) {
    said += part;
    const [, url] = /"url":"(http[^"]+)"/.exec(said) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(said);
}

async function measure(): Promise<void> {
  const { clients, hosts, pages, delay, seconds, rounds, knownHosts, urls } = readFlags(
    FLAGS,
    process.argv.slice(2),
  ).values;
  process.stdout.write(`${machineLine(machine())}\n`);
  const web = await startWeb({ hosts, pages, port: 0, net: 125 });
  const { directory, remove } = temporaryDirectory();
  try {
    const [port] = await freePorts(1);
    const file = path.join(directory, 'crawl.json');
    fs.writeFileSync(
      file,
      JSON.stringify({
        ...{ name: 'bench', seeds: [web.seed], scope: { hosts: ['*'] } },
        politeness: { hostDelayMs: delay },
        http: { userAgent: 'bench (+https://example.org/)', allowPrivateAddresses: true },
        cluster: { agents: [{ id: 'a1', listen: `tcp://127.0.0.1:${port}` }] },
        agent: { dataDir: path.join(directory, 'data') },
        monitor: { listen: '127.0.0.1:0' },
      }),
    );
    const agent = spawn(process.execPath, [main, 'agent', file, '--id', 'a1'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    killAtExit(agent);
    const url = await urlOf(agent);
    await windowOf(agent.pid!, url, clients, 5000);
    // The cost of a page changes while the crawl grows: each window with dashboards is compared with
    // those before and after it.
    const having: Cpu[] = [];
    const without = [await windowOf(agent.pid!, url, 0, seconds * 1000)];
    for (let round = 0; round < rounds; round++) {
      having.push(await windowOf(agent.pid!, url, clients, seconds * 1000));
      without.push(await windowOf(agent.pid!, url, 0, seconds * 1000));
    }
    const around = having.map((_, round) => {
      const [one, two] = [without[round]!, without[round + 1]!];
      return { all: (one.all + two.all) / 2, server: (one.server + two.server) / 2 };
    });
    const added = having.map(({ server }, round) => server - around[round]!.server);
    const [all, base] = [having, around].map((windows) => windows.map((one) => one.all));
    const share = (100 * spread(ratios(added, base!)).median).toFixed(1);
    agent.kill('SIGKILL');
    await once(agent, 'exit');
    process.stdout.write(
      `CPU per page with ${clients} dashboards and one scrape a second, over that without: ` +
        `${spreadText(spread(ratios(all!, base!)))} (at most 1.03), of which the server takes ` +
        `${share} %; ${spread(base!).median.toFixed(2)} ms without; load ${loadNow().toFixed(1)}\n`,
    );
    enlarge(path.join(directory, 'data/a1/state.sqlite'), knownHosts, urls);
    const { lists, turn } = await listTimes(file);
    const slowest = [...lists].sort((a, b) => b[1] - a[1]);
    const text = slowest.map(([list, ms]) => `${list} ${ms.toFixed(0)}`).join(', ');
    process.stdout.write(`lists with ${knownHosts} hosts and ${urls} URLs, p95 in ms: ${text}\n`);
    process.stdout.write(
      `longest turn of the server meanwhile: ${turn.toFixed(0)} ms (at most 50)\n`,
    );
  } finally {
    await web.stop();
    remove();
  }
}

try {
  if (process.argv.includes('--help')) process.stdout.write(helpText('dashboard', FLAGS));
  else await measure();
  process.exit(0);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(2);
}
