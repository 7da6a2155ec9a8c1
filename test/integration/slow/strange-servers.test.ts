// Servers that answer in every way that hurts a crawler, crawled by the real command: each answer
// becomes a row in `pages`, `skipped` or `frontier`, the other hosts are crawled all the same, and
// an agent's memory does not follow the size of what is sent to it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Running, run, Scratch, start, until, untilAsked } from '../cli-process.ts';
import {
  charsets,
  type HostName,
  manyLinks,
  type StrangeServer,
  startStrangeServer,
} from '../strange-server.ts';

/** Hosts that a crawl is done with at once, and where it begins at each. */
const finalHosts = {
  ...{ good: '/', huge: '/', endless: '/', bomb: '/', links: '/', charsets: '/' },
  ...{ loop: '/', chase: '/0', astray: '/', busy: '/', dripping404: '/' },
  ...{ oddHeader: '/' },
} satisfies Partial<Record<HostName, string>>;
/** Hosts whose answer is worth another attempt, after 10 s, and what is wrong with it. */
const failingHosts = [
  ...(['drip', 'silent', 'closed', 'reset', 'cut', 'noHttp'] as const),
  ...(['twoLengths', 'longHeader', 'badGzip', 'broken'] as const),
] satisfies HostName[];

const pagesPerHost = 200;
const bodyBytes = 10 * 1024 ** 2;
/** What had arrived when the limit was reached. */
const lastChunkMax = 1024 ** 2;
/** Above what it has at the start: bodies of four threads at once, buffers, and the garbage. */
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

function configOf(scratch: Scratch, seeds: readonly string[]): Promise<string> {
  const timeouts = { connectMs: 2000, responseMs: 2000, totalMs: 4000 };
  const userAgent = 'cli-test (+https://example.org/)';
  return scratch.config(2, {
    seeds,
    limits: { pagesPerHost, bodyBytes },
    politeness: { hostDelayMs: 1 },
    http: { userAgent, allowPrivateAddresses: true, timeouts },
  });
}

describe('strange servers', { concurrency: 2 }, () => {
  let server: StrangeServer;
  before(async () => {
    server = await startStrangeServer();
  });
  after(() => server.stop());

  test('endless, huge, false and slow answers are recorded, memory is bounded, exit 0', async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const names = Object.keys(finalHosts) as (keyof typeof finalHosts)[];
    const seeds = names.map((name) => server.origin(name) + finalHosts[name]);
    const config = await configOf(scratch, seeds);
    const launch = start(['launch', config]);
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
      assert.ok(server.asked('charsets').includes(asks), `${name}: ${asks} was not asked for`);
    }
    assert.equal(server.asked('charsets').length, 1 + 2 * charsets.length);
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

  test('what fails waits in the frontier for its next attempt, and other hosts are done', async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    // Nobody listens there: the server has addresses of its own only.
    const refused = server.origin('good').replace('127.43.0.', '127.43.1.');
    const failing = [...failingHosts.map((name) => server.origin(name)), refused];
    const seeds = [...failing, server.origin('good')].map((origin) => `${origin}/`);
    const config = await configOf(scratch, seeds);
    const launch = start(['launch', config]);
    const wasAsked = (name: HostName) => server.asked(name).length > 0;
    const known = () => server.asked('good').length > 20 && failingHosts.every(wasAsked);
    await until('every host is tried', known);
    const waiting = `SELECT url FROM frontier WHERE not_before > 0`;
    let rows: { url: string }[] = [];
    await untilAsked('all wait', async () => {
      rows = await ask(config, waiting);
      return rows.length >= failing.length;
    });
    launch.child.kill('SIGINT');
    const { code, stderr } = await launch.ended;
    assert.equal(code, 11, stderr);
    const missing = failing.filter((origin) => !rows.some(({ url }) => url === `${origin}/`));
    assert.deepEqual(missing, [], 'not tried, or not queued again');
    const [good] = await ask<{ n: number }>(
      config,
      `SELECT count(*) AS n FROM pages WHERE status = 200 AND url LIKE '${server.origin('good')}%'`,
    );
    assert.equal(good!.n, 21);
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

/** By how many bytes each agent's memory grew at the most, from its first moment to its end. */
async function growthWhile(
  launch: Running,
  scratch: Scratch,
  ids: readonly string[],
): Promise<Map<string, number>> {
  await until('the agents', () => ids.every((id) => scratch.pid(id) !== null));
  const [first, most] = [new Map<string, number>(), new Map<string, number>()];
  while (launch.child.exitCode === null) {
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

/** Null where the system does not tell, or the process is gone. */
function residentBytes(pid: number | null): number | null {
  try {
    const text = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1]) * 1024;
  } catch {
    return null;
  }
}
