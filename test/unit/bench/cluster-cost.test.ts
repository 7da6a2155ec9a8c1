import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  costTable,
  type Kind,
  kindsOf,
  overNoCopy,
  overOneAgent,
  type Series,
  sharesOf,
  shareTable,
} from '../../../bench/cluster-cost.ts';
import { type CrawlFigures, costPerPage } from '../../../bench/crawl-figures.ts';
import type { ProbeReport } from '../../../bench/probe.ts';

const counts = {
  ...{ statements: 1200, writing: 600, transactions: 50, syncs: 5, connections: 10 },
  ...{ redisCommands: 0, roundTrips: 0, urlsRouted: 0, urlsNew: 0, urlsElsewhere: 0 },
  ...{ reads: 1, writes: 1, writtenBytes: 1, allocatedBytes: 1 },
};

function agent(given: Partial<ProbeReport>): ProbeReport {
  return {
    ...{ cpuMs: 0, startCpuMs: 0, rssBytesMax: 0, loopLateMs: 0, sent: {}, pages: null },
    ...{ counts, threads: {}, profile: null, ...given },
  };
}

function crawl(crawlCpuMs: number, ...agents: ProbeReport[]): CrawlFigures {
  return { pages: 100, seconds: 1, crawlCpuMs, agents, load: 0 };
}

/** A series of crawls of 100 pages with these processor times. */
function series(kind: Partial<Kind>, ...cpuMs: number[]): Series {
  const crawls = cpuMs.map((ms) => crawl(ms, agent({})));
  return {
    foreign: 10,
    agents: 1,
    backups: 0,
    ...kind,
    crawls,
    counted: crawl(0, agent({})),
    profiled: null,
  };
}

describe('bench: the cost of a cluster', () => {
  it('bench: crawls every combination in which all copies have an agent', () => {
    const kinds = kindsOf({ foreign: [0, 30], agents: [1, 2], backups: [0, 1] });
    assert.deepEqual(
      kinds.map(({ foreign, agents, backups }) => [foreign, agents, backups]),
      [0, 30].flatMap((share) => [
        [share, 1, 0],
        [share, 2, 0],
        [share, 2, 1],
      ]),
    );
  });

  it('bench: compares crawls of the same web and round, with one agent or without copies', () => {
    const one = series({}, 100, 200);
    const two = series({ agents: 2 }, 150, 240);
    const copied = series({ agents: 2, backups: 1 }, 300, 360);
    const all = [series({ foreign: 30 }, 1, 1), one, two, copied];
    assert.deepEqual(overOneAgent(copied, all), [3, 1.8]);
    assert.deepEqual(overNoCopy(copied, all), [2, 1.5]);
    assert.deepEqual(overOneAgent(one, all), [1, 1]);
  });

  it('bench: without the crawl to compare with, the table has a dash', () => {
    const { columns, rows } = costTable([series({ agents: 2, backups: 1 }, 150)], '');
    const cell = (name: string) => rows[0]?.[columns.indexOf(name)];
    assert.equal(cell(''), '10 %, 2 agents, 1 backup');
    assert.equal(cell('CPU ms'), '1.50');
    assert.deepEqual([cell('over one agent'), cell('over no copy')], ['-', '-']);
    assert.deepEqual([cell('rows'), cell('commits'), cell('syncs')], ['6.0', '0.500', '0.050']);
  });

  it('bench: counts of a page are those of all agents, heartbeats excluded', () => {
    const sent = { URLS: { messages: 20, bytes: 900 }, HEARTBEAT: { messages: 99, bytes: 9 } };
    const cost = costPerPage(crawl(1, agent({ sent }), agent({ sent })));
    assert.deepEqual([cost.statements, cost.messages, cost.bytes], [24, 0.4, 18]);
    const { syncs, transactions } = cost;
    assert.deepEqual([syncs, transactions], [0.1, 1]);
    assert.throws(() => costPerPage(crawl(1, agent({ counts: null }))), /did not count/);
  });

  it('bench: a profile divides the time of the main thread, and other threads keep theirs', () => {
    const threads = { main: 30, parse: 15, other: 5 };
    const one = series({});
    one.crawls.push(crawl(100, agent({ threads }), agent({ threads })));
    assert.deepEqual(Object.fromEntries(sharesOf(one)), { main: 0.6, parse: 0.3 });
    const profile = { statements: 20, commits: 10 };
    one.profiled = crawl(500, agent({ profile }), agent({ profile: { statements: 10 } }));
    const shares = sharesOf(one);
    assert.deepEqual([...shares.keys()].sort(), ['commits', 'parse', 'statements']);
    assert.ok(Math.abs((shares.get('statements') ?? 0) - 0.45) < 1e-9);
    assert.ok(Math.abs((shares.get('commits') ?? 0) - 0.15) < 1e-9);
  });

  it('bench: the table of shares has no columns for what nothing took', () => {
    const one = series({});
    one.crawls.push(crawl(100, agent({ threads: { main: 40, parse: 0, v8: 25 } })));
    const { columns, rows } = shareTable([one]);
    assert.deepEqual(columns, ['', 'main thread', 'V8 thr.']);
    assert.deepEqual(rows, [['10 %, 1 agent, 0 backups', '40.0', '25.0']]);
  });
});
