// How soon the hosts of a killed agent get requests again, and what its death costs. In the middle
// of a crawl one of several agents is killed, as often as requested, each time in a new crawl. It
// measures the time from the kill to the first request at each host with a queue, and the pages
// fetched again, both from the web server's log. docs/BENCHMARKS.md states the bounds.
// node bench/takeover.ts [--agents 3] [--kills 6] [--suspect 1500] [--heartbeat 100] [--json]

import type { Cluster } from '../test/chaos/harness.ts';
import { steadyMs } from '../test/chaos/harness-process.ts';
import { holds } from '../test/web/judge.ts';
import { hostsMax } from '../test/web/options.ts';
import { withCluster } from './cluster-run.ts';
import { threadsMax, UsageError, whole, zeroOrOne } from './flags.ts';
import { loadNow } from './machine.ts';
import { command, progress, type Report } from './report.ts';
import { figureText, spread } from './sample.ts';

const flags = {
  /** One is killed, the others take over. */
  agents: whole(3, 2, 64),
  ...{ kills: 6, hosts: whole(24, 1, hostsMax), pages: 30, delay: whole(100, 0) },
  threads: whole(16, 1, threadsMax),
  /** The minimum of the config. */
  ...{ suspect: whole(1500, 30), heartbeat: whole(100, 10), power: zeroOrOne(1) },
};
type Flags = Readonly<Record<keyof typeof flags, number>>;

/** Time for the successor to begin, in addition to suspicion, heartbeats and the delay. */
const graceMs = 1000;
/** Shares of the pages at which the kills happen, in turn. */
const shares = [0.15, 0.3, 0.45];
const crawlMsMax = 60_000;

interface Kill {
  readonly id: string;
  /** Time to the first request at each inherited host that had a queue. */
  readonly hostMs: readonly number[];
  /**
   * Time without heartbeats after which the last of the others removed it: the lengthened timeout.
   */
  readonly silentMs: number;
  readonly boundMs: number;
  readonly again: number;
  readonly load: number;
}

await command('takeover', flags, async (given): Promise<Report> => {
  const { suspect, heartbeat } = given;
  if (heartbeat * 3 > suspect) {
    const remedy = '--suspect must be at least three times --heartbeat';
    throw new UsageError(`--suspect ${suspect} --heartbeat ${heartbeat}: ${remedy}`);
  }
  const kills: Kill[] = [];
  for (let k = 0; k < given.kills; k++) {
    const kill = await killOnce(given, k);
    progress(toldOf(kill));
    kills.push(kill);
  }
  const againMax = 2 * given.threads;
  const successors = kills.filter(({ hostMs }) => hostMs.length > 0);
  const figures = {
    hostMs: spread(kills.flatMap(({ hostMs }) => hostMs)),
    lastHostMs: spread(successors.map(({ hostMs }) => Math.max(...hostMs))),
    silentMs: spread(kills.map(({ silentMs }) => silentMs)),
    boundMs: spread(kills.map(({ boundMs }) => boundMs)),
    pagesAgain: spread(kills.map(({ again }) => again)),
  };
  const titles: Readonly<Record<keyof typeof figures, string>> = {
    hostMs: 'kill to first request, each host (ms)',
    lastHostMs: 'the same, the last host of a kill (ms)',
    silentMs: 'silence until it was taken for dead (ms)',
    boundMs: 'bound (ms)',
    pagesAgain: `pages fetched again (at most ${againMax})`,
  };
  const rows = Object.entries(titles).map(([name, title]) => {
    const { count, median, p95, most } = figures[name as keyof typeof figures];
    return [title, String(count), ...[median, p95, most].map((value) => figureText(value, 0))];
  });
  const { agents, delay } = given;
  const title = `${agents} agents, suspectAfterMs ${suspect}, heartbeatMs ${heartbeat}, delay ${delay} ms:`;
  return {
    tables: [{ title, columns: ['', 'count', 'median', 'p95', 'most'], rows }],
    ...verdict(kills, againMax),
    figures: { ...figures, kills },
  };
});

function toldOf({ id, hostMs, boundMs, again, load }: Kill): string {
  const { median, most } = spread(hostMs);
  const first =
    hostMs.length === 0
      ? 'no host with a queue'
      : `${hostMs.length} hosts, first requests after ${median.toFixed(0)} ms, ` +
        `the last after ${most.toFixed(0)} of ${boundMs.toFixed(0)} ms`;
  return `${id}: ${first}; ${again} pages again, load ${load}`;
}

/** A kill that left no queue counts as neither in time nor late. */
function verdict(
  kills: readonly Kill[],
  againMax: number,
): Required<Pick<Report, 'remarks' | 'lacking'>> {
  const successors = kills.filter(({ hostMs }) => hostMs.length > 0);
  const late = successors.filter(({ hostMs, boundMs }) => hostMs.some((ms) => ms > boundMs)).length;
  const dear = kills.filter(({ again }) => again > againMax).length;
  const word = (count: number) => (count === 0 ? 'holds' : 'missed');
  const cost = `${dear} of ${kills.length} kills cost more pages than twice the threads (${word(dear)}).`;
  if (successors.length === 0) {
    const why = 'No kill left a host with a queue, so there is nothing that was taken over';
    return { remarks: [cost], lacking: [`${why}: give more --hosts, --pages or --kills.`] };
  }
  const none = kills.length - successors.length;
  const others = none === 0 ? '' : ` ${none} more left no host with a queue.`;
  const times = `${late} of ${successors.length} kills were taken over later than the bound`;
  return { remarks: [`${times} (${word(late)}).${others}`, cost], lacking: [] };
}

/**
 * One crawl with one kill. Throws if a page is missing at the end, or a host got no further
 * request.
 */
async function killOnce(given: Flags, k: number): Promise<Kill> {
  const { agents, hosts, pages, delay: delayMs, threads } = given;
  const options = {
    ...{ agents, delayMs, threads, heartbeatMs: given.heartbeat, suspectAfterMs: given.suspect },
    web: { seed: k + 1, hosts, pages },
    config: { storage: { durability: given.power === 1 ? 'power' : 'process' } },
  };
  return withCluster(options, async (cluster) => {
    await cluster.startAll();
    await cluster.reaches(shares[k % shares.length] ?? 0.3);
    const load = loadNow();
    const id = cluster.ids[k % agents] ?? 'a1';
    await cluster.kill(id);
    const killedMs = steadyMs();
    const { frontier } = cluster.state(id).state();
    const left = new Set(frontier.map((url) => new URL(url).hostname));
    const { judgement } = await cluster.finish(crawlMsMax);
    if (!holds(judgement, Number.POSITIVE_INFINITY)) {
      throw new Error(`not complete and polite: ${JSON.stringify(judgement)}`);
    }
    const silentMs = silenceBefore(cluster, id);
    const lengthenedMs = Math.max(given.suspect, silentMs);
    return {
      ...{ id, silentMs, load, again: judgement.overlap.count },
      hostMs: [...left].map((host) => firstAfter(cluster, host, killedMs) - killedMs),
      boundMs: lengthenedMs + 2 * given.heartbeat + graceMs + delayMs,
    };
  });
}

function firstAfter(cluster: Cluster, host: string, ms: number): number {
  const later = cluster.web.requests().filter((r) => r.host === host && r.startMs > ms);
  if (later.length === 0) throw new Error(`${host} was not asked again`);
  return Math.min(...later.map(({ startMs }) => startMs));
}

/**
 * The longest wait of any of the others, according to the events in their files; 0 if none has one.
 */
function silenceBefore(cluster: Cluster, id: string): number {
  const told = cluster.ids
    .filter((other) => other !== id)
    .flatMap((other) => cluster.state(other).events('suspect'))
    .filter(({ detail }) => detail.agent === id)
    .map(({ detail }) => Number(detail.silentMs));
  return Math.max(0, ...told);
}
