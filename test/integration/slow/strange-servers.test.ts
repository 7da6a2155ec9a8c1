// The real command crawls servers whose answers can harm a crawler. Each answer must become a row
// in `pages`, `skipped` or `frontier`, the other hosts must be crawled, and the memory of an agent
// must not grow with the size of the answers.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Running, run, Scratch, start, until, untilAsked } from '../cli-process.ts';
import {
  charsets,
  type HostName,
  manyLinks,
  type StrangeServer,
  startStrangeServer,
} from '../strange-server.ts';

/** Hosts that a crawl finishes without a long wait, with the path of the seed. */
const finalHosts = {
  ...{ good: '/', huge: '/', endless: '/', bomb: '/', links: '/', charsets: '/' },
  ...{ loop: '/', chase: '/0', astray: '/', busy: '/', dripping404: '/' },
  ...{ oddHeader: '/' },
} satisfies Partial<Record<HostName, string>>;
/** Hosts whose answer is retried after 10 s. */
const failingHosts = [
  ...(['drip', 'silent', 'closed', 'reset', 'cut', 'noHttp'] as const),
  ...(['twoLengths', 'longHeader', 'badGzip', 'broken'] as const),
] satisfies HostName[];

const pagesPerHost = 200;
const bodyBytes = 10 * 1024 ** 2;
/** Maximum size of the chunk that reaches the limit. */
const lastChunkMax = 1024 ** 2;
/** Maximum growth of memory: bodies of four threads, buffers and garbage. */
const growthBytesMax = 300 * 1024 ** 2;

interface PageRow {
  readonly url: string;
  readonly status: number | null;
  readonly bytes: number;
  readonly error: string | null;
  readonly attempts: number;
  readonly redirect_to: string | null;
}

async function ask<Row>(config: string, sql: string): Promise<Row[]> {
  const { code, stdout, stderr } = await run('query', config, sql, '--format', 'json');
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Row[];
}

/** A server of the test's own, because its requests are counted. */
async function serverOf(t: TestContext): Promise<StrangeServer> {
  const server = await startStrangeServer();
  t.after(() => server.stop());
  return server;
}

/** `totalMs` is how long an answer that never ends is read. */
function configOf(
  scratch: Scratch,
  seeds: readonly string[],
  { totalMs }: { readonly totalMs: number },
): Promise<string> {
  const timeouts = { connectMs: totalMs / 2, responseMs: totalMs / 2, totalMs };
  const userAgent = 'cli-test (+https://example.org/)';
  return scratch.config(2, {
    seeds,
    limits: { pagesPerHost, bodyBytes },
    politeness: { hostDelayMs: 1 },
    http: { userAgent, allowPrivateAddresses: true, timeouts },
  });
}

describe('strange servers', { concurrency: 2 }, () => {
  test('a crawl records endless, huge, false and slow answers with bounded memory and ends with 0', async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const server = await serverOf(t);
    const names = Object.keys(finalHosts) as (keyof typeof finalHosts)[];
    const seeds = names.map((name) => server.origin(name) + finalHosts[name]);
    // No answer that ends takes so long, on a busy machine either: a timeout would request it again.
    const config = await configOf(scratch, seeds, { totalMs: 15_000 });
    const launch = start(['launch', config], {}, 180_000);
    const growth = await growthWhile(launch, scratch, ['a1', 'a2']);
    const { code, stderr } = await launch.ended;
    assert.equal(code, 0, stderr);
    for (const [id, bytes] of growth) {
      assert.ok(bytes < growthBytesMax, `${id} grew by ${Math.round(bytes / 1024 ** 2)} MiB`);
    }

    const pages = await ask<PageRow>(config, 'SELECT * FROM pages ORDER BY fetched_at');
    const of = (name: HostName) => pages.filter(({ url }) => url.startsWith(server.origin(name)));
    for (const name of ['huge', 'endless', 'bomb'] as const) {
      const [{ status, error, bytes }] = of(name) as [PageRow];
      assert.deepEqual([name, status, error], [name, 200, 'truncated']);
      assert.ok(bytes <= bodyBytes + lastChunkMax, `${name}: ${bytes} bytes`);
    }
    assert.equal(of('good').length, 21);
    assertAllLinksKnown(server, of('links'), await ask(config, 'SELECT * FROM skipped'));
    for (const { name, asks } of charsets) {
      assert.ok(server.asked('charsets').includes(asks), `${name}: ${asks} was not requested`);
    }
    assert.equal(new Set(server.asked('charsets')).size, 1 + 2 * charsets.length);
    assert.equal(server.asked('charsets').length, of('charsets').length);
    assert.deepEqual(server.asked('loop'), ['/', '/a', '/b']);
    assert.equal(of('chase').length, pagesPerHost);
    assert.deepEqual(
      of('astray')
        .map(({ status }) => status)
        .toSorted(),
      [200, 302, 302, 302],
    );
    const [busy] = of('busy') as [PageRow];
    assert.deepEqual([busy.status, busy.attempts, server.asked('busy').length], [200, 4, 4]);
    assert.deepEqual(
      of('oddHeader').map(({ status, error }) => [status, error]),
      [[200, null]],
    );
    const [dripping] = of('dripping404') as [PageRow];
    assert.deepEqual([dripping.status, dripping.error], [404, 'truncated']);
    assert.deepEqual(await ask(config, 'SELECT * FROM frontier'), []);
  });

  test('failed URLs wait in the frontier for a retry, and other hosts are completed', async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const server = await serverOf(t);
    // No server listens at this address.
    const refused = server.origin('good').replace('127.43.0.', '127.43.1.');
    const failing = [...failingHosts.map((name) => server.origin(name)), refused];
    const seeds = [...failing, server.origin('good')].map((origin) => `${origin}/`);
    const config = await configOf(scratch, seeds, { totalMs: 4000 });
    const launch = start(['launch', config]);
    await until('a request to every failing host', () =>
      failingHosts.every((name) => server.asked(name).length > 0),
    );
    const waiting = `SELECT url FROM frontier WHERE not_before > 0`;
    await untilAsked('all failed URLs in the frontier', async () => {
      const rows = await ask<{ url: string }>(config, waiting);
      return failing.every((origin) => rows.some(({ url }) => url === `${origin}/`));
    });
    const good = `SELECT url FROM pages WHERE status = 200 AND url LIKE '${server.origin('good')}%'`;
    await untilAsked('all pages of the good host', async () => {
      return (await ask(config, good)).length === 21;
    });
    launch.child.kill('SIGINT');
    const { code, stderr } = await launch.ended;
    assert.equal(code, 11, stderr);
  });
});

function assertAllLinksKnown(
  server: StrangeServer,
  pages: readonly PageRow[],
  skipped: readonly { url: string; reason: string }[],
): void {
  assert.equal(pages.length, pagesPerHost);
  const rest = skipped.filter(({ url }) => url.startsWith(server.origin('links')));
  assert.ok(rest.every(({ reason }) => reason === 'pages'));
  const known = new Set([...pages, ...rest].map(({ url }) => url));
  assert.equal(known.size, manyLinks + 1);
}

/** Measures the maximum growth of each agent's memory from its start to its end, in bytes. */
async function growthWhile(
  launch: Running,
  scratch: Scratch,
  ids: readonly string[],
): Promise<Map<string, number>> {
  await until('the agents', () => ids.every((id) => scratch.pid(id) !== null));
  const [first, most] = [new Map<string, number>(), new Map<string, number>()];
  while (launch.child.exitCode === null && launch.child.signalCode === null) {
    for (const id of ids) {
      const bytes = residentBytes(scratch.pid(id));
      if (bytes === null) continue;
      if (!first.has(id)) first.set(id, bytes);
      most.set(id, Math.max(most.get(id) ?? 0, bytes - first.get(id)!));
    }
    await pause(50);
  }
  return most;
}

/** Null if the system does not report it or the process has ended. */
function residentBytes(pid: number | null): number | null {
  try {
    const text = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1]) * 1024;
  } catch {
    return null;
  }
}
