// One of twenty hosts sends the crawler every torture case, which must not slow down the other
// nineteen. The servers time a crawl by the real command alternately without and with the torturer,
// and the test compares the best of each.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { FETCHER_ROWS } from '../contract/fetch/fetcher-rows.ts';
import { ScriptedServer, type Step } from '../contract/fetch/scripted-server.ts';
import { run, Scratch, start, until } from '../integration/cli-process.ts';

const FILE = new URL('../../../shared/cases/http_torture.json', import.meta.url);
const PLAYABLE = /^(?:send|send_b64|repeat|randomBytes|close|bytes|everyMs|delayMsPerKiB)$/;

const hosts = 19;
const pagesOfHost = 40;
/**
 * Long enough that only the delay bounds the pace, even on a busy machine. With 40 ms and six busy
 * loops on two cores the pace was half, and the share was random.
 */
const hostDelayMs = 150;
const rounds = 2;
/** The share of the throughput that must remain. */
const shareMin = 0.9;
/** Allowed growth after the start: a few bodies at once, buffers and garbage. */
const growthBytesMax = 200 * 1024 ** 2;

interface Row {
  readonly id: string;
  readonly steps: readonly Step[];
}

/** The published cases that one connection can play, else those of this repository. */
function rowsToPlay(): readonly Row[] {
  if (!existsSync(FILE)) return FETCHER_ROWS.map(({ steps }, at) => ({ id: `own-${at}`, steps }));
  const rows = JSON.parse(readFileSync(FILE, 'utf8')) as Row[];
  return rows.filter(({ steps }) =>
    steps.every((step) => Object.keys(step).every((key) => PLAYABLE.test(key))),
  );
}

const rows = rowsToPlay();

function html(body: string): Step[] {
  const head = `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: ${body.length}\r\n\r\n`;
  return [{ send: head + body }, { close: 'hang' }];
}

/** The torturer: `/` links to every case, `/ID` plays it, and there is no robots.txt. */
function torturer(): Promise<ScriptedServer> {
  const byPath = new Map(rows.map(({ id, steps }) => [`/${id}`, steps]));
  const index = html(rows.map(({ id }) => `<a href="/${id}">${id}</a>`).join(''));
  const missing: Step[] = [
    { send: 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n' },
    { close: 'hang' },
  ];
  const stepsOf = (path: string) => (path === '/' ? index : (byPath.get(path) ?? missing));
  return ScriptedServer.start(stepsOf, '127.44.0.99');
}

/** Nineteen hosts of linked pages on one socket, with the time of each page request. */
async function goodHosts(): Promise<{ server: Server; port: number; askedAt: number[] }> {
  const askedAt: number[] = [];
  const links = Array.from({ length: pagesOfHost }, (_, k) => `<a href="/${k}">${k}</a>`).join('');
  const page = `<title>good</title>${links}${'<p>some text of a page</p>'.repeat(200)}`;
  const server = createServer((request, response) => {
    if (request.url === '/robots.txt') {
      response.writeHead(404).end();
      return;
    }
    askedAt.push(performance.now());
    response.writeHead(200, { 'content-type': 'text/html' }).end(page);
  });
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  return { server, port: (server.address() as AddressInfo).port, askedAt };
}

interface Measured {
  readonly pagesPerSecond: number;
  readonly growthBytes: number;
  /** Number of requests to the torturer. */
  readonly tortured: number;
}

async function crawl(withTorturer: boolean): Promise<Measured> {
  const good = await goodHosts();
  const bad = await torturer();
  const scratch = new Scratch();
  try {
    const seeds = Array.from({ length: hosts }, (_, k) => `http://127.44.0.${k + 1}:${good.port}/`);
    if (withTorturer) {
      seeds.push(...rows.map(({ id }) => `http://127.44.0.99:${bad.port}/${id}`));
    }
    const config = await scratch.config(1, {
      seeds,
      politeness: { hostDelayMs },
      http: {
        userAgent: 'torture (+https://example.org/)',
        allowPrivateAddresses: true,
        timeouts: { connectMs: 1000, responseMs: 1000, totalMs: 2000 },
      },
      agent: { threads: 32, dataDir: 'data' },
    });
    const launch = start(['launch', config]);
    const all = hosts * (pagesOfHost + 1);
    await until('the first page', () => good.askedAt.length > 0);
    const before = memoryOf(scratch.pid('a1'));
    await until('all pages of the good hosts', () => good.askedAt.length >= all);
    const growthBytes = memoryOf(scratch.pid('a1')) - before;
    const ms = good.askedAt.at(-1)! - good.askedAt[0]!;
    const tortured = bad.received.length;
    await run('stop', config);
    await launch.ended;
    return { pagesPerSecond: (all * 1000) / ms, growthBytes, tortured };
  } finally {
    scratch.clean();
    await bad.stop();
    good.server.closeAllConnections();
    good.server.close();
  }
}

function memoryOf(pid: number | null): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024;
}

test('torture: nineteen hosts are crawled as fast with a torturer as without one', {
  skip: process.platform !== 'linux' && 'needs the addresses and the /proc files of Linux',
}, async (t) => {
  const alone: Measured[] = [];
  const beside: Measured[] = [];
  for (let round = 0; round < rounds; round++) {
    alone.push(await crawl(false));
    beside.push(await crawl(true));
  }
  const best = (list: Measured[]) => Math.max(...list.map((one) => one.pagesPerSecond));
  const share = best(beside) / best(alone);
  const growth = Math.max(...beside.map((one) => one.growthBytes));
  t.diagnostic(
    `${best(alone).toFixed(1)} pages/s alone, ${best(beside).toFixed(1)} beside a torturer ` +
      `(${(100 * share).toFixed(1)} %), memory +${Math.round(growth / 2 ** 20)} MiB`,
  );
  assert.ok(
    beside.every(({ tortured }) => tortured > 1),
    'the torturer was visited',
  );
  assert.ok(share >= shareMin, `${(100 * share).toFixed(1)} % of the throughput remains`);
  assert.ok(growth < growthBytesMax, `memory grew by ${growth} bytes`);
});
