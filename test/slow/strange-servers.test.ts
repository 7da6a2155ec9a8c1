// Hosts with every failure that is worth a retry, crawled to the end. The waits of 10, 60 and 300 s
// are fixed in the product, so the test takes seven minutes. The other hosts are crawled meanwhile.
// Each host must end as a recorded failure with its code, and the crawl with 0.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { run, untilAsked } from '../integration/cli-process.ts';
import { type HostName, startStrangeServer } from '../integration/strange-server.ts';
import { finish } from './programs.ts';

const main = resolve(import.meta.dirname, '../../agent/main.ts');
/**
 * More than the sum of the waits (370 s), four timeouts of 4 s, and the delays of a busy machine.
 */
const crawlMsMax = 600_000;
/** One attempt and three retries. */
const attempts = 4;

/** The record of each host: an error code if no complete response arrived, else the status. */
const endings = {
  drip: 'total_timeout',
  silent: 'response_timeout',
  closed: 'reset',
  reset: 'reset',
  cut: 'truncated_body',
  noHttp: 'http_syntax',
  twoLengths: 'http_syntax',
  longHeader: 'headers_too_large',
  badGzip: 'body_encoding',
  broken: '500',
} satisfies Partial<Record<HostName, string>>;

test('completion: hosts that fail delay no other, wait for retries, end as recorded failures, and the crawl ends with 0', {
  timeout: crawlMsMax + 60_000,
}, async (t) => {
  const server = await startStrangeServer();
  const directory = mkdtempSync(join(tmpdir(), 'ubiring-strange-'));
  t.after(async () => {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  const names = Object.keys(endings) as (keyof typeof endings)[];
  // No server listens there, because this one has its own addresses only.
  const unreachable = `${server.origin('good').replace('127.43.0.', '127.43.1.')}/`;
  const seeds = [...names.map((name) => `${server.origin(name)}/`), unreachable];
  const config = join(directory, 'crawl.json');
  const timeouts = { connectMs: 2000, responseMs: 2000, totalMs: 4000 };
  const value = {
    seeds: [...seeds, `${server.origin('good')}/`],
    politeness: { hostDelayMs: 1 },
    http: { userAgent: 'strange (+https://example.org/)', allowPrivateAddresses: true, timeouts },
    cluster: { agents: 2 },
    agent: { dataDir: 'data' },
  };
  writeFileSync(config, JSON.stringify(value));
  const launch = finish(process.execPath, [main, 'launch', config], crawlMsMax);
  const ask = async (sql: string) => {
    const { code, stdout } = await run('query', config, sql, '--format', 'json');
    // No agent may have started.
    return code === 0 ? (JSON.parse(stdout) as { url: string }[]) : [];
  };
  await untilAsked('all failed URLs in the frontier', async () => {
    const rows = await ask('SELECT url FROM frontier WHERE not_before > 0');
    return seeds.every((url) => rows.some((row) => row.url === url));
  });
  const good = `SELECT url FROM pages WHERE status = 200 AND url LIKE '${server.origin('good')}%'`;
  await untilAsked('all pages of the good host', async () => (await ask(good)).length === 21);
  const launched = await launch;
  assert.equal(launched.code, 0, launched.stderr);

  const sql = 'SELECT url, status, error, attempts FROM pages';
  const query = [main, 'query', config, sql, '--format', 'json'];
  const { stdout } = await finish(process.execPath, query, crawlMsMax);
  const pages: { url: string; status: number | null; error: string | null; attempts: number }[] =
    JSON.parse(stdout);
  const ending = (url: string) => {
    const page = pages.find((row) => row.url === url);
    return page && { how: page.error ?? String(page.status), attempts: page.attempts };
  };
  for (const name of names) {
    const wanted = { how: endings[name], attempts };
    assert.deepEqual({ name, ...ending(`${server.origin(name)}/`) }, { name, ...wanted });
  }
  assert.equal(ending(unreachable)?.how, 'connect_refused');
  assert.equal(pages.filter(({ status }) => status === 200).length, 21);
});
