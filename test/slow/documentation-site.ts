// Two documentation trees from Debian packages, served by nginx on two loopback addresses, and a
// crawl of both by three agents. nginx compresses the pages of the second tree, as most servers do.
// The slow suites compare the crawl with that of another crawler, and the archives with the files
// on disk.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../bench/ports.ts';
import { type Finished, finish, type Need, serve } from './programs.ts';

const main = resolve(import.meta.dirname, '../../agent/main.ts');

const userAgent = 'ubiring-documentation';

/** The crawl takes ten seconds on two free cores, mostly because of politeness. */
const ubiringMsMax = 180_000;

interface Tree {
  readonly address: string;
  readonly root: string;
  readonly debianPackage: string;
  readonly compressed: boolean;
}

const trees: readonly Tree[] = [
  {
    address: '127.7.0.1',
    root: '/usr/share/doc/python3.11/html',
    debianPackage: 'python3.11-doc',
    compressed: false,
  },
  {
    address: '127.7.0.2',
    root: '/usr/share/doc/sqlite3',
    debianPackage: 'sqlite3-doc',
    compressed: true,
  },
];

export const siteNeeds: readonly Need[] = [
  { name: 'nginx', check: ['nginx', '-v'], debianPackage: 'nginx-light' },
  ...trees.map(({ root, debianPackage }) => {
    return { name: root, check: join(root, 'index.html'), debianPackage };
  }),
];

export interface DocumentationSite {
  /** The first page of each tree. */
  readonly seeds: readonly string[];
  /** The requests of ubiring so far in nginx's log: address and path of each. */
  asked(): string[];
  /** The file behind a URL that nginx answers with 200. */
  fileOf(url: string): string;
}

/** Serves both trees until the end of the test. Writes only into the directory. */
export async function startSite(t: TestContext, directory: string): Promise<DocumentationSite> {
  const port = await freePort();
  const errors = join(directory, 'error.log');
  const file = join(directory, 'nginx.conf');
  mkdirSync(join(directory, 'temp'));
  writeFileSync(file, nginxConfig(directory, port));
  serve(t, 'nginx', ['-c', file, '-p', directory, '-e', errors]);
  const seeds = trees.map(({ address }) => `http://${address}:${port}/`);
  for (let tries = 0; ; tries++) {
    const answer = await fetch(seeds[0]!, { method: 'HEAD' }).catch(() => null);
    if (answer?.ok) break;
    // Read only now, because the file does not exist before nginx starts.
    if (tries === 200) assert.fail(`nginx does not serve: ${readFileSync(errors, 'utf8')}`);
    await pause(50);
  }
  return {
    seeds,
    asked: () => askedIn(readFileSync(join(directory, 'access.log'), 'utf8')),
    fileOf: (url) => {
      const { hostname, pathname } = new URL(url);
      const { root } = trees.find(({ address }) => address === hostname)!;
      const path = decodeURIComponent(pathname);
      return join(root, path.endsWith('/') ? `${path}index.html` : path);
    },
  };
}

/** @param log - address, status, path and user agent of each request */
function askedIn(log: string): string[] {
  return log
    .split('\n')
    .filter((line) => line.endsWith(` ${userAgent}`))
    .map((line) => line.split(' '))
    .map(([address, , path]) => `${address}${path}`);
}

function nginxConfig(directory: string, port: number): string {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const servers = trees.map(({ address, root, compressed }) => {
    const gzip = compressed ? 'on' : 'off';
    return `server { listen ${address}:${port}; root ${root}; index index.html; gzip ${gzip}; }`;
  });
  return `
    daemon off;
    worker_processes 1;
    pid ${directory}/nginx.pid;
    error_log ${directory}/error.log;
    events { worker_connections 512; }
    http {
      types { text/html html htm; text/css css; text/plain txt; application/javascript js;
        image/png png; image/gif gif; image/svg+xml svg; application/pdf pdf; }
      default_type application/octet-stream;
      log_format asked '$server_addr $status $request_uri $http_user_agent';
      access_log ${directory}/access.log asked;
      ${paths.map((path) => `${path}_temp_path ${directory}/temp/${path};`).join('\n')}
      ${servers.join('\n')}
    }`;
}

/** A finished crawl: its config, its data directory, and access to `ubiring query`. */
export interface FinishedCrawl {
  readonly config: string;
  readonly dataDir: string;
  query<Row>(sql: string): Promise<Row[]>;
}

/** @param more - sections of the config besides those that the crawl of these trees needs */
export async function crawlWithUbiring(
  directory: string,
  seeds: readonly string[],
  more: Readonly<Record<string, unknown>> = {},
): Promise<FinishedCrawl> {
  const config = join(directory, 'crawl.json');
  const value = {
    name: 'documentation',
    seeds,
    limits: { depthPerHost: 100 },
    politeness: { hostDelayMs: 2 },
    http: { userAgent, allowPrivateAddresses: true },
    cluster: { agents: 3, failureDetector: { heartbeatMs: '500ms', suspectAfterMs: '10s' } },
    agent: { dataDir: 'data' },
    ...more,
  };
  writeFileSync(config, JSON.stringify(value));
  await ubiring('launch', config);
  return {
    config,
    dataDir: join(directory, 'data'),
    query: async (sql) => {
      const { stdout } = await ubiring('query', config, sql, '--format', 'json');
      return JSON.parse(stdout);
    },
  };
}

/** Runs a command, which must succeed. */
export async function ubiring(...args: readonly string[]): Promise<Finished> {
  const ended = await finish(process.execPath, [main, ...args], ubiringMsMax);
  assert.equal(ended.code, 0, ended.stderr);
  return ended;
}

/**
 * Asserts that nginx's log agrees with `urls`, which the crawls have fetched. Only requests that the
 * agents aborted may be in the log in addition.
 *
 * @returns the number of aborted requests, and how many of them nginx answered
 */
export async function assertAccounted(
  crawls: readonly FinishedCrawl[],
  asked: readonly string[],
  urls: readonly string[],
): Promise<{ givenUp: number; again: number }> {
  const more = counted(asked);
  for (const url of urls) {
    const { hostname, pathname, search } = new URL(url);
    const place = hostname + pathname + search;
    more.set(place, (more.get(place) ?? 0) - 1);
  }
  const differing = [...more].filter(([, count]) => count !== 0);
  const select = "SELECT detail FROM events WHERE kind = 'abort'";
  const aborts = (
    await Promise.all(crawls.map((crawl) => crawl.query<{ detail: string }>(select)))
  ).flat();
  const all = JSON.stringify({ differing, aborts });
  const unasked = differing.filter(([, count]) => count < 0);
  assert.equal(unasked.length, 0, `nginx never received some requests: ${all}`);
  const again = differing.reduce((sum, [, count]) => sum + count, 0);
  const givenUp = aborts.reduce((sum, { detail }) => sum + JSON.parse(detail).requests, 0);
  assert.ok(again <= givenUp, `nginx received more requests than are accounted for: ${all}`);
  return { givenUp, again };
}

function counted(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
