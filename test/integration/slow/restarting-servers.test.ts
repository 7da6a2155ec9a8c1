// The real command crawls servers that are unavailable for some seconds. No page may be lost and
// none may be requested too early, for every form of Retry-After.

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { run, Scratch } from '../cli-process.ts';
import { blurMs, HostServers, type Visit } from '../host-servers.ts';

/** Second byte of the addresses; the web of no other test uses it. */
const addressNet = 52;
const outageMs = 5000;
const pages = 6;
/** The clock of one server is behind by this time. */
const behindMs = 3600_000;

const names = ['short', 'zero', 'gone', 'slowClock', 'moved', 'again'] as const;
type HostName = (typeof names)[number];

const date = (ms: number) => new Date(ms).toUTCString();

/** The headers of each host while it is unavailable; null if it works. */
const busy: Readonly<Record<HostName, (times: number) => Record<string, string> | null>> = {
  short: () => ({ 'retry-after': '1' }),
  zero: () => ({ 'retry-after': '0' }),
  gone: () => ({ 'retry-after': date(Date.now() - 60_000) }),
  slowClock: () => {
    const now = Date.now() - behindMs;
    return { date: date(now), 'retry-after': date(now + 2000) };
  },
  moved: () => null,
  again: () => null,
};

describe('restarting servers', () => {
  const began = new Map<HostName, number>();
  const web = new HostServers(addressNet, names, (visit, response) => answer(visit, response));
  before(() => web.start());
  after(() => web.stop());

  function answer({ host, path, start }: Visit<HostName>, response: ServerResponse): void {
    if (!began.has(host)) began.set(host, start);
    const times = web.asked(host).filter((one) => one === path).length;
    const isOver = start - began.get(host)! > outageMs;
    const headers = isOver ? null : busy[host](times);
    if (headers) return void response.writeHead(503, headers).end();
    if (path === '/robots.txt') return void response.writeHead(404).end();
    if (host === 'moved' && path === '/') {
      const to = { location: '/1', 'retry-after': '2' };
      return void response.writeHead(301, to).end();
    }
    const status = { '/1': 408, '/2': 421, '/3': 425 }[path];
    if (host === 'again' && times === 1 && status !== undefined) {
      return void response.writeHead(status).end('not now');
    }
    const links = Array.from({ length: pages }, (_, n) => `<a href="/${n}">x</a>`).join('');
    response.writeHead(200, { 'content-type': 'text/html' }).end(links);
  }

  test('a crawl loses no page in short outages, for every form of Retry-After', async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const config = await scratch.config(2, {
      seeds: names.map((name) => `${web.origin(name)}/`),
      scope: { hosts: names.map((name) => web.addressOf(name)) },
      politeness: { hostDelayMs: 20 },
      archive: { warc: false },
    });
    const { code, stderr, stdout } = await run('launch', config);
    assert.equal(code, 0, stderr);
    assert.doesNotMatch(stdout, /could not be reached|ended with 429 or 5xx/);
    const sql = 'SELECT host, count(*) AS n, sum(status BETWEEN 200 AND 399) AS good FROM pages';
    const asked = await run('query', config, `${sql} GROUP BY host`, '--format', 'json');
    const all = names.map((name) => ({ host: web.addressOf(name), n: 1 + pages, good: 1 + pages }));
    const rows = JSON.parse(asked.stdout) as { host: string; n: number; good: number }[];
    const plain = rows.map(({ host, n, good }) => ({ host, n, good }));
    assert.deepEqual(plain.toSorted(byHost), all.toSorted(byHost));
    assertWaited('slowClock', 2000);
    assertWaited('zero', 1000);
    const [redirect, next] = web.log.filter(({ host, path }) => {
      return host === 'moved' && path !== '/robots.txt';
    });
    assert.ok(
      next!.start - redirect!.end >= 2000 - blurMs,
      'a redirect with Retry-After delays the next request',
    );
  });

  /** Asserts the delay between requests during the outage. */
  function assertWaited(name: HostName, ms: number): void {
    const visits = web.log.filter(({ host }) => host === name);
    for (const [k, { end }] of visits.entries()) {
      if (visits[k + 1] === undefined || end - began.get(name)! > outageMs) break;
      assert.ok(visits[k + 1]!.start - end >= ms - blurMs, `${name}, request ${k + 1}`);
    }
  }
});

function byHost(a: { host: string }, b: { host: string }): number {
  return a.host < b.host ? -1 : 1;
}
