// How many URLs networks de-duplicate in a second, against the agents of a network and the size of a
// batch: the shipped clients with two networks on one redis-server, without a crawl. All clients are
// in this process, so one core is the limit of their sum.

import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { NetworkClient } from '../agent/networks/client/network-client.ts';
import type { NetworkSettings } from '../agent/networks/network-settings.ts';
import { openPools } from '../agent/networks/redis/open-pools.ts';
import type { RedisPools } from '../agent/networks/redis/redis-pools.ts';
import { type Bar, barChart } from './chart.ts';
import { loadNow } from './machine.ts';
import type { NetworksGiven } from './networks-part.ts';
import type { PartResult } from './parts.ts';
import { countRedis } from './probe-counts.ts';
import { RedisServer } from './redis-server.ts';
import { progress } from './report.ts';

const agentCounts = [1, 2, 4, 8];
const batches = [1, 10, 100, 500, 2000, 10_000];
const measuredMs = 3000;
const startMsMax = 20_000;
const names = ['n1', 'n2'];
/** The longest pause of a client. */
const turnMsMax = 250;

interface Point {
  readonly agents: number;
  readonly batch: number;
  readonly urlsPerSecond: number;
  readonly bytesPerUrl: number;
  readonly roundTripsPerUrl: number;
  readonly load: number;
}

const now = () => ({ mono: performance.now(), wall: Date.now() });

/** An agent that always has more new URLs. */
class Stream {
  decided = 0;
  readonly #name: string;
  readonly #client: NetworkClient;
  readonly #pools: ReadonlyMap<string, RedisPools>;
  /** Without a verdict, in the order in which they were found. */
  readonly #waiting = new Set<string>();
  #found = 0;
  #timer: NodeJS.Timeout | null = null;
  #dueMs = Infinity;
  #isOver = false;

  private constructor(
    name: string,
    pools: Map<string, RedisPools>,
    settings: NetworkSettings,
    members: readonly string[],
  ) {
    this.#name = name;
    this.#pools = pools;
    const waits = () => settings.network === names[0];
    this.#client = new NetworkClient({
      ...{ settings, pools, agent: name, token: `${name}.1` },
      sha256: (text) => hash('sha256', text, 'base64url'),
      wake: () => this.#turnIn(0),
      onError: (error) => {
        if (!this.#isOver) throw error;
      },
      isCentreWanted: () => name === members[0],
      members: () => ({ agents: members, isPartial: false }),
      ...{ isDone: () => false, activity: () => {}, wakeHost: () => {} },
      store: {
        more: (max) => (waits() ? this.#urls(max) : []),
        ...{ elsewhere: () => [], isIdle: () => false, queued: () => settings.batch + 1 },
        decide: (url) => {
          if (this.#waiting.delete(url)) this.decided++;
          return true;
        },
        ...{ unreported: () => [], reported: () => {}, standingOf: () => 'queued' },
        askAgain: () => {},
        fill: () => ({ finished: [], queued: [], next: null }),
        ...{ spareHosts: () => [], give: () => [], accept: () => {} },
      },
    });
    this.#turnIn(0);
  }

  static async open(
    name: string,
    url: string,
    settings: NetworkSettings,
    members: readonly string[],
  ) {
    const pools = new Map<string, RedisPools>();
    for (const network of names) {
      const options = { crawl: 'bench', network, url, timeoutMs: 10_000, environment: {} };
      const opened = await openPools(options);
      await opened.ready;
      pools.set(network, opened.pools);
    }
    return new Stream(name, pools, settings, members);
  }

  #urls(max: number): string[] {
    while (this.#waiting.size < max)
      this.#waiting.add(`http://${this.#name}.test/${this.#found++}`);
    return [...this.#waiting.values().take(max)];
  }

  #turnIn(ms: number): void {
    const dueMs = performance.now() + ms;
    if (this.#isOver || dueMs >= this.#dueMs) return;
    this.#dueMs = dueMs;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#dueMs = Infinity;
      this.#client.pump(now());
      this.#turnIn(
        Math.min(turnMsMax, Math.max(0, this.#client.nextAtMs(now()) - performance.now())),
      );
    }, ms);
  }

  close(): void {
    this.#isOver = true;
    if (this.#timer) clearTimeout(this.#timer);
    for (const pools of this.#pools.values()) pools.close();
  }
}

export async function throughput(
  _: NetworksGiven,
): Promise<PartResult & { readonly charts: readonly string[] }> {
  const points: Point[] = [];
  const counts = countRedis();
  for (const agents of agentCounts) {
    for (const batch of batches) {
      const point = await measured(agents, batch, counts);
      progress(`${agents} agents, batch ${batch}: ${point.urlsPerSecond.toFixed(0)} URLs/s`);
      points.push(point);
    }
  }
  const rows = batches.map((batch) => {
    const its = points.filter((point) => point.batch === batch);
    const figures = its.map(({ urlsPerSecond }) => urlsPerSecond.toFixed(0));
    const last = its.at(-1)!;
    const cost = [last.bytesPerUrl.toFixed(0), last.roundTripsPerUrl.toFixed(4)];
    return [String(batch), ...figures, ...cost, its.map(({ load }) => load).join(' ')];
  });
  const most = agentCounts.at(-1)!;
  const title =
    `URLs de-duplicated in a second by the agents of one of two networks, ${measuredMs / 1000} s ` +
    `each, all in one process; bytes and round trips per URL with ${most} agents:`;
  const columns = [
    ...['batch', ...agentCounts.map((agents) => `${agents} agents`)],
    ...['bytes', 'round trips', 'loads'],
  ];
  const bars = points
    .filter(({ agents }) => agents === most || agents === 1)
    .map(({ agents, batch, urlsPerSecond: value }): Bar => {
      const name = agents === 1 ? '1 agent' : `${agents} agents`;
      return {
        title: `${name}, batch ${batch}`,
        value,
        least: value,
        most: value,
        isOwn: agents > 1,
      };
    });
  const charts = [barChart('URLs de-duplicated in a second', bars)];
  return { tables: [{ title, columns, rows }], figures: points, charts };
}

async function measured(
  agents: number,
  batch: number,
  counts: ReturnType<typeof countRedis>,
): Promise<Point> {
  const server = await RedisServer.start();
  const times = { onTimeout: 'wait', timeoutMs: 10_000, leaseMs: 60_000 } as const;
  const own = Array.from({ length: agents }, (_, k) => `a${k + 1}`);
  const streams: Stream[] = [];
  try {
    for (const [network, members] of [
      [names[1]!, ['b1']],
      [names[0]!, own],
    ] as const) {
      const settings = { ...times, network, networks: names, seeds: 1, batch };
      for (const name of members) {
        streams.push(await Stream.open(name, server.url, settings, members));
      }
    }
    const decided = () => streams.reduce((sum, stream) => sum + stream.decided, 0);
    const endMs = performance.now() + startMsMax;
    while (decided() === 0 && performance.now() < endMs) await pause(10);
    const [use, urls, trips] = [await server.use(), decided(), counts.roundTrips];
    const fromMs = performance.now();
    await pause(measuredMs);
    const seconds = (performance.now() - fromMs) / 1000;
    const count = decided() - urls;
    const { bytes } = RedisServer.difference(await server.use(), use);
    return {
      ...{ agents, batch, urlsPerSecond: count / seconds, load: loadNow() },
      bytesPerUrl: bytes / count,
      roundTripsPerUrl: (counts.roundTrips - trips) / count,
    };
  } finally {
    for (const stream of streams) stream.close();
    await server.stop();
  }
}
