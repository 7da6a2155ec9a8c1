// The real command crawls servers whose answers can harm a crawler. Each answer must become a row
// in `pages`, `skipped` or `frontier`, the other hosts must be crawled, and the memory of an agent
// must not grow with the size of the answers. `test/slow/strange-servers.test.ts` has the answers that
// are requested again.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { patient, type Running, run, Scratch, start, until } from '../cli-process.ts';
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

test('a crawl records endless, huge, false and slow answers with bounded memory and ends with 0', async (t) => {
  const scratch = new Scratch();
  t.after(() => scratch.clean());
  const server = await startStrangeServer();
  t.after(() => server.stop());
  const names = Object.keys(finalHosts) as (keyof typeof finalHosts)[];
  const seeds = names.map((name) => server.origin(name) + finalHosts[name]);
  // No answer that ends takes so long, on a busy machine either: a timeout would request it again.
  const totalMs = 15_000;
  const timeouts = { connectMs: totalMs / 2, responseMs: totalMs / 2, totalMs };
  const userAgent = 'cli-test (+https://example.org/)';
  const config = await scratch.config(
    1,
    {
      seeds,
      limits: { pagesPerHost, bodyBytes },
      politeness: { hostDelayMs: 1 },
      http: { userAgent, allowPrivateAddresses: true, timeouts },
    },
    patient,
  );
  const launch = start(['launch', config]);
  const growth = await growthWhile(launch, scratch, ['a1']);
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
  assert.deepEqual([...new Set(server.asked('loop'))], ['/', '/a', '/b']);
  for (const name of ['charsets', 'loop'] as const) {
    // Only a failed attempt, which a busy machine may cause, is repeated.
    const attempts = of(name).reduce((sum, page) => sum + page.attempts, 0);
    assert.ok(server.asked(name).length <= attempts, `${name}: ${server.asked(name)}`);
  }
  // The first page, 20 redirects of its depth, and `limits.depthPerHost` deeper ones.
  assert.equal(of('chase').length, 1 + 20 + 16);
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
