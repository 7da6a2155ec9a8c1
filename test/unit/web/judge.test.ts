// Tests the judge: it passes a faultless crawl, and reports each fault that is planted in the log
// under its own name, with the URL.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Finding, holds, type Judgement, judge } from '../../web/judge.ts';
import { SyntheticWeb } from '../../web/model.ts';
import type { LoggedRequest } from '../../web/request-log.ts';

const delayMs = 100;
const web = new SyntheticWeb({
  ...{ hosts: 8, pages: 20, trap: 'disallowed' },
  shares: { broken: 0.1, private: 0.2, flaky: 0.2, noRobots: 0 },
});

/** The log of a complete and polite crawl, one host after another, robots.txt first. */
function faultless(): LoggedRequest[] {
  const log: LoggedRequest[] = [];
  const ask = (host: string, path: string, status: number) => {
    const startMs = 1_000 + log.length * (delayMs + 5);
    log.push({ host, path, status, startMs, endMs: startMs + 5, userAgent: 'test' });
  };
  for (const [origin, urls] of Map.groupBy(web.expected().must, (url) => new URL(url).origin)) {
    const host = new URL(origin).hostname;
    ask(host, '/robots.txt', 200);
    for (const url of urls) {
      const path = url.slice(origin.length);
      const place = web.place(web.hostOf(host), path);
      const kind = place?.kind === 'page' ? web.kind(web.hostOf(host), place.page) : 'plain';
      if (kind === 'flaky') ask(host, path, 503);
      ask(host, path, kind === 'broken' ? 500 : 200);
      if (kind === 'broken') ask(host, path, 500);
    }
  }
  return log;
}

type Fault = {
  [K in keyof Judgement]: Judgement[K] extends Finding ? K : never;
}[keyof Judgement];

const faults: readonly {
  id: string;
  plant: (log: LoggedRequest[]) => LoggedRequest[];
  found: Partial<Record<Fault, number>>;
}[] = [
  {
    id: 'a page that was not requested',
    plant: (log) => log.toSpliced(at(log, '/'), 1),
    found: { missing: 1 },
  },
  {
    id: 'a page that was only deferred',
    plant: (log) => log.with(at(log, '/'), { ...log[at(log, '/')]!, status: 503 }),
    found: { missing: 1 },
  },
  {
    id: 'a page whose request was cancelled',
    plant: (log) => log.with(at(log, '/'), { ...log[at(log, '/')]!, status: 0 }),
    found: { missing: 1 },
  },
  {
    id: 'a page that robots.txt forbids',
    plant: (log) => [...log, later(log, [...web.expected().never].find(isPrivate)!)],
    found: { forbidden: 1 },
  },
  {
    id: 'a page behind nofollow, and a further page of the trap',
    plant: (log) => {
      const hidden = [...web.expected().never].find((url) => url.includes('/hidden/'))!;
      const once = [...log, later(log, hidden)];
      return [...once, later(once, `${web.origin(2)}/trap/77`)];
    },
    found: { forbidden: 2 },
  },
  {
    id: 'a URL that no page links to',
    plant: (log) => [...log, later(log, `${web.origin(0)}/ghost/comment.html`)],
    found: { unknown: 1 },
  },
  {
    id: 'a page before robots.txt',
    plant: (log) => swapped(log, 0, 1),
    found: { beforeRobots: 1 },
  },
  {
    id: 'no robots.txt at all',
    plant: (log) =>
      log.filter(({ host, path }) => !(host === '127.8.0.1' && path === '/robots.txt')),
    found: { beforeRobots: faultless().filter(({ host }) => host === '127.8.0.1').length - 1 },
  },
  {
    id: 'a page that was fetched twice in different spellings',
    plant: (log) => {
      const { host, path } = log.find((request) => /^\/d\d\/p/.test(request.path))!;
      return [...log, later(log, `http://${host}:8780${path.replace('p', '%70')}`)];
    },
    found: { overlap: 1 },
  },
  {
    id: 'two concurrent requests to one host',
    plant: (log) => log.with(1, { ...log[1]!, endMs: log[2]!.startMs + 1 }),
    found: { concurrent: 1 },
  },
  {
    id: 'a long request that overlaps two others',
    plant: (log) => log.with(1, { ...log[1]!, endMs: log[3]!.startMs + 1 }),
    found: { concurrent: 2 },
  },
  {
    id: 'a request two milliseconds too soon',
    plant: (log) => log.with(1, { ...log[1]!, endMs: log[2]!.startMs - delayMs + 2 }),
    found: { tooSoon: 1 },
  },
];

function at(log: readonly LoggedRequest[], path: string): number {
  return log.findIndex((request) => request.path === path);
}

function later(log: readonly LoggedRequest[], url: string): LoggedRequest {
  const { hostname, pathname, search } = new URL(url);
  const startMs = Math.max(...log.map(({ endMs }) => endMs)) + delayMs;
  const times = { startMs, endMs: startMs + 5 };
  return { host: hostname, path: pathname + search, status: 200, userAgent: 'test', ...times };
}

/** The log with the times of two requests exchanged. */
function swapped(log: readonly LoggedRequest[], a: number, b: number): LoggedRequest[] {
  const times = ({ startMs, endMs }: LoggedRequest) => ({ startMs, endMs });
  const [first, second] = [log[a]!, log[b]!];
  return log.with(a, { ...first, ...times(second) }).with(b, { ...second, ...times(first) });
}

function isPrivate(url: string): boolean {
  return url.includes('/private/');
}

function counts(judgement: Judgement): Partial<Record<string, number>> {
  const found = Object.entries(judgement).filter(
    ([, value]) => typeof value === 'object' && value !== null && value.count > 0,
  );
  return Object.fromEntries(found.map(([name, value]) => [name, (value as Finding).count]));
}

describe('judge', () => {
  it('passes a faultless crawl, in whatever order its log is', () => {
    const judgement = judge(web, faultless().reverse(), { delayMs });
    assert.deepEqual(counts(judgement), {});
    assert.equal(holds(judgement), true);
    assert.equal(judgement.fetched, judgement.expected);
    assert.equal(judgement.hosts, 8);
    assert.equal(judgement.worstGapMs, delayMs);
  });

  for (const { id, plant, found } of faults) {
    it(`finds ${id}`, () => {
      const judgement = judge(web, plant(faultless()), { delayMs });
      assert.deepEqual(counts(judgement), found);
      assert.equal(holds(judgement), false);
    });
  }

  it('accepts as many repeated pages as configured', () => {
    const log = faultless();
    const judgement = judge(web, [...log, later(log, `${web.origin(0)}/`)], { delayMs });
    assert.equal(holds(judgement), false);
    assert.equal(holds(judgement, 1), true);
  });

  it('reports every page as missing if the log is empty', () => {
    const { missing, expected, worstGapMs } = judge(web, [], { delayMs });
    assert.equal(missing.count, expected);
    assert.equal(missing.samples.length, 5);
    assert.equal(worstGapMs, null);
  });
});
