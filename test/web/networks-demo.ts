// The program of `npm run demo:networks`: two networks of three agents each crawl one synthetic web
// and share it through a Redis that the demo starts (docs/NETWORKS.md). The web server's log tells
// whether each page was fetched once, and whether the delay was kept between the networks. All files
// are in a temporary directory, which is removed.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort } from '../../bench/ports.ts';
import { startRedis } from '../contract/networks/redis-start.ts';
import { holds, judge } from './judge.ts';
import { rowsOf, tableOf, violationsOf } from './judgement-report.ts';
import type { LoggedRequest } from './request-log.ts';
import { type RunningWeb, startWeb } from './server.ts';

const main = resolve(import.meta.dirname, '../../agent/main.ts');
const names = ['berlin', 'paris'] as const;
const agents = 3;
/** Some 1,000 URLs: about ten seconds for two networks. */
const size = { hosts: 60, pages: 16, seed: 1, port: 0, net: 9 };
const delayMs = 100;
const progressMs = 2000;
/** For slow machines. After it the networks are told to stop, and get `stopMs` for it. */
const limitMs = 300_000;
const stopMs = 10_000;
const without = `The demo needs redis-server or valkey-server, and neither is installed. Install one:
  Debian, Ubuntu   apt install redis-server
  Fedora           dnf install valkey
  macOS            brew install redis
`;

/** Ends the demo early. */
const stopping = new AbortController();

async function demo(directory: string): Promise<number> {
  const redisPort = await freePort();
  const redis = await anyRedis(redisPort, directory);
  if (redis === null) {
    process.stderr.write(without);
    return 1;
  }
  const web = await startWeb(size);
  try {
    process.stdout.write(
      `A synthetic web of ${size.hosts} hosts; ${names.length} networks of ${agents} agents; ` +
        `one ${redis.spawnfile}\n` +
        `They end within a minute; on a slow machine they have ${limitMs / 60_000} minutes.\n\n`,
    );
    const startedMs = performance.now();
    const codes = await crawl(web, `redis://127.0.0.1:${redisPort}/0`, directory);
    return report(web, codes, (performance.now() - startedMs) / 1000);
  } finally {
    await web.stop();
    // A terminal's SIGINT has ended it already.
    if (redis.exitCode === null && redis.signalCode === null) {
      redis.kill('SIGKILL');
      await once(redis, 'exit');
    }
  }
}

/** The first program that is installed; null: none. */
async function anyRedis(port: number, directory: string): Promise<ChildProcess | null> {
  for (const program of ['redis-server', 'valkey-server']) {
    try {
      return await startRedis(program, { port, directory });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return null;
}

/** Runs both networks to their ends. @returns their exit codes */
async function crawl(web: RunningWeb, url: string, directory: string): Promise<number[]> {
  const networks = Object.fromEntries(names.map((name) => [name, url]));
  const launches = names.map((network, k) => {
    const file = join(directory, `${network}.json`);
    // Each begins at hosts of its own.
    const hosts = Array.from({ length: size.hosts }, (_, host) => host);
    const own = hosts.filter((host) => host % names.length === k);
    const seeds = own.map((host) => `${web.web.origin(host)}/`);
    const config = configOf(network, seeds, networks, join(directory, network));
    writeFileSync(file, JSON.stringify(config));
    const stdio = ['ignore', 'ignore', 'pipe'] as const;
    // In a process group of its own: the terminal's SIGINT reaches it through `stop` alone.
    return spawn(process.execPath, [main, 'launch', file], { stdio: [...stdio], detached: true });
  });
  const stop = () => {
    for (const launch of launches) launch.kill('SIGTERM');
  };
  const limit = setTimeout(() => {
    process.stderr.write(
      `the machine is slow: the networks have not ended in ${limitMs / 60_000} min: stopping them\n`,
    );
    stop();
  }, limitMs);
  const kill = setTimeout(() => {
    for (const { pid } of launches) killGroup(pid!);
  }, limitMs + stopMs);
  stopping.signal.addEventListener('abort', stop);
  if (stopping.signal.aborted) stop();
  const started = performance.now();
  const progress = setInterval(() => {
    const seconds = Math.round((performance.now() - started) / 1000);
    const counts = countsOf(web).map(([name, pages]) => `${name} ${pages} pages`);
    process.stdout.write(`${String(seconds).padStart(3)} s  ${counts.join('  ')}\n`);
  }, progressMs);
  try {
    return await Promise.all(launches.map(codeOf));
  } finally {
    clearInterval(progress);
    clearTimeout(limit);
    clearTimeout(kill);
  }
}

function configOf(
  network: string,
  seeds: readonly string[],
  networks: Readonly<Record<string, string>>,
  dataDir: string,
): object {
  mkdirSync(dataDir);
  return {
    name: 'demo',
    seeds,
    scope: { hosts: ['*'] },
    politeness: { hostDelayMs: delayMs },
    http: { userAgent: userAgentOf(network), allowPrivateAddresses: true },
    cluster: { agents, failureDetector: { heartbeatMs: '500ms', suspectAfterMs: '5s' } },
    agent: { threads: 16, dataDir },
    archive: { warc: false },
    // On a busy machine, an answer that is only late must not lead to pages that both fetch.
    dedup: {
      ...{ mode: 'redis', network, networks, batch: 100 },
      ...{ onTimeout: 'wait', timeoutMs: '500ms', leaseMs: '5s' },
    },
  };
}

function userAgentOf(network: string): string {
  return `ubiring-demo-${network} (+https://example.org/ubiring-demo)`;
}

async function codeOf(launch: ChildProcess): Promise<number> {
  let said = '';
  launch.stderr!.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const [code] = (await once(launch, 'close')) as [number | null];
  if (code !== 0) process.stderr.write(said);
  return code ?? 1;
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** Answers other than robots.txt to each network. */
function countsOf(web: RunningWeb): [name: string, pages: number][] {
  const isPage = ({ path, status }: LoggedRequest) => path !== '/robots.txt' && status !== 0;
  const pages = web.requests().filter(isPage);
  return names.map((name) => {
    const own = pages.filter(({ userAgent }) => userAgent === userAgentOf(name));
    return [name, own.length];
  });
}

function report(web: RunningWeb, codes: readonly number[], seconds: number): number {
  const judgement = judge(web.web, web.requests(), { delayMs });
  const shares = countsOf(web).map(([name, pages], k) => {
    const end = codes[k] === 0 ? 'complete' : `exit code ${codes[k]}`;
    return [`network ${name}`, `${pages} pages, ${end}`] as const;
  });
  const table = tableOf([...shares, ...rowsOf(judgement, delayMs, seconds)]);
  const isWell = holds(judgement) && codes.every((code) => code === 0);
  const verdict = isWell
    ? 'Every page once by one of the networks, and politely between them.'
    : codes.includes(11)
      ? 'The networks were stopped before the end, so pages are missing.'
      : `The web server logged violations, or a network failed:\n${violationsOf(judgement)}`;
  process.stdout.write(`\nAs the web server saw both networks:\n\n${table}\n\n${verdict}\n`);
  return isWell ? 0 : 1;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());
const directory = mkdtempSync(join(tmpdir(), 'ubiring-networks-'));
try {
  process.exitCode = await demo(directory);
} finally {
  rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}
