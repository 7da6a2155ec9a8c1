// The proof on real input: two documentation trees that nobody here wrote, served by nginx on two
// loopback addresses, are crawled by three agents and by Scrapy from the same seeds. Both must come
// to the same URLs with the same answers, but for the differences that docs/REAL-CRAWL.md explains;
// and by nginx's own log every URL was asked for once.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { finish, freePort, has, type Need, python, serve } from './programs.ts';

const main = resolve(import.meta.dirname, '../../agent/main.ts');
const spider = join(import.meta.dirname, 'documentation-spider.py');
const userAgent = 'ubiring-documentation';

const sites = [
  { address: '127.7.0.1', root: '/usr/share/doc/python3.11/html', package: 'python3.11-doc' },
  { address: '127.7.0.2', root: '/usr/share/doc/sqlite3', package: 'sqlite3-doc' },
];

const needs: readonly Need[] = [
  { name: 'nginx', check: ['nginx', '-v'], debianPackage: 'nginx-light' },
  { name: 'Scrapy', check: [python, '-c', 'import scrapy'], debianPackage: 'python3-scrapy' },
  ...sites.map(({ root, package: debianPackage }) => ({
    name: root,
    check: join(root, 'index.html'),
    debianPackage,
  })),
];

/** What only one of the two asks for, and may: each with its paragraph in docs/REAL-CRAWL.md. */
const explained: readonly { by: 'ubiring' | 'scrapy'; path: string; why: string }[] = [
  {
    by: 'scrapy',
    path: '/%5C',
    why: 'href="\\": a browser, as the URL Standard says, reads a backslash as a slash',
  },
];

/** Pages of both trees: enough that an empty or half crawl cannot pass for agreement. */
const pagesMin = 1_200;
/** Each takes seconds (ubiring) or two minutes (Scrapy) on two cores. */
const ubiringMsMax = 180_000;
const scrapyMsMax = 600_000;

interface Answer {
  readonly status: number | null;
  readonly isHtml: boolean;
}

test('documentation: three agents and Scrapy come to the same pages, each asked for once', {
  timeout: 900_000,
}, async (t) => {
  if (!has(t, needs)) return;
  const directory = mkdtempSync(join(tmpdir(), 'ubiring-documentation-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const port = await freePort();
  const seeds = sites.map(({ address }) => `http://${address}:${port}/`);
  await startNginx(t, directory, port, seeds[0]!);

  const [ubiring, scrapy] = await Promise.all([
    crawlWithUbiring(directory, seeds),
    crawlWithScrapy(directory, seeds),
  ]);
  const pages = [...ubiring.values()].filter(({ status, isHtml }) => status === 200 && isHtml);
  assert.ok(pages.length >= pagesMin, `${pages.length} pages`);
  assert.deepEqual(unexplained('ubiring', ubiring, scrapy), []);
  assert.deepEqual(unexplained('scrapy', scrapy, ubiring), []);
  const answers = [...ubiring].filter(([url, answer]) => {
    const other = scrapy.get(url);
    return other && (other.status !== answer.status || other.isHtml !== answer.isHtml);
  });
  assert.deepEqual(answers, []);
  // An explanation that explains nothing any more is to be taken out.
  const used = explained.filter(({ path }) => [...scrapy.keys()].some((url) => url.endsWith(path)));
  assert.deepEqual(used, explained);
  assertAskedOnce(readFileSync(join(directory, 'access.log'), 'utf8'), ubiring.size);
});

async function startNginx(
  t: TestContext,
  directory: string,
  port: number,
  first: string,
): Promise<void> {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  mkdirSync(join(directory, 'temp'));
  const servers = sites.map(
    ({ address, root }) => `server { listen ${address}:${port}; root ${root}; index index.html; }`,
  );
  const config = `
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
  const file = join(directory, 'nginx.conf');
  writeFileSync(file, config);
  serve(t, 'nginx', ['-c', file, '-p', directory, '-e', join(directory, 'error.log')]);
  for (let tries = 0; tries < 200; tries++) {
    const answer = await fetch(first, { method: 'HEAD' }).catch(() => null);
    if (answer?.ok) return;
    await pause(50);
  }
  assert.fail(`nginx does not serve: ${readFileSync(join(directory, 'error.log'), 'utf8')}`);
}

async function crawlWithUbiring(
  directory: string,
  seeds: readonly string[],
): Promise<Map<string, Answer>> {
  const config = join(directory, 'crawl.json');
  const value = {
    name: 'documentation',
    seeds,
    limits: { depthPerHost: 100 },
    politeness: { hostDelayMs: 2 },
    http: { userAgent, allowPrivateAddresses: true },
    cluster: { agents: 3, failureDetector: { heartbeatMs: '500ms', suspectAfterMs: '10s' } },
    agent: { dataDir: 'data' },
  };
  writeFileSync(config, JSON.stringify(value));
  const launched = await finish(process.execPath, [main, 'launch', config], ubiringMsMax);
  assert.equal(launched.code, 0, launched.stderr);
  const sql = 'SELECT url, status, content_type AS type FROM pages';
  const query = ['query', config, sql, '--format', 'json'];
  const { stdout } = await finish(process.execPath, [main, ...query], ubiringMsMax);
  return answersOf(JSON.parse(stdout));
}

async function crawlWithScrapy(
  directory: string,
  seeds: readonly string[],
): Promise<Map<string, Answer>> {
  const out = join(directory, 'scrapy.jsonl');
  const ended = await finish(python, [spider, out, ...seeds], scrapyMsMax);
  assert.equal(ended.code, 0, ended.stderr);
  const lines = readFileSync(out, 'utf8').trimEnd().split('\n');
  return answersOf(lines.map((line) => JSON.parse(line)));
}

function answersOf(
  rows: readonly { url: string; status: number | null; type: string | null }[],
): Map<string, Answer> {
  return new Map(
    rows.map(({ url, status, type }) => {
      return [url, { status, isHtml: type?.startsWith('text/html') ?? false }];
    }),
  );
}

function unexplained(
  by: 'ubiring' | 'scrapy',
  mine: ReadonlyMap<string, Answer>,
  theirs: ReadonlyMap<string, Answer>,
): string[] {
  const may = (url: string) =>
    explained.some((one) => one.by === by && new URL(url).pathname === one.path);
  return [...mine.keys()].filter((url) => !theirs.has(url) && !may(url));
}

/** By the server's word: nothing asked for twice, and nothing asked for that is not in `pages`. */
function assertAskedOnce(log: string, pages: number): void {
  const asked = log
    .trimEnd()
    .split('\n')
    .filter((line) => line.endsWith(` ${userAgent}`))
    .map((line) => line.split(' '))
    .map(([address, , path]) => `${address}${path}`)
    .filter((url) => !url.endsWith('/robots.txt'));
  assert.equal(new Set(asked).size, asked.length);
  assert.equal(asked.length, pages);
}
