// One crawl of the synthetic web by a cluster of real agents, and the resources that it used. It
// uses processes, ports and files of the chaos tests, without faults. The benchmark's own process
// serves the web, and its time does not count.

import path from 'node:path';
import { Cluster, type ClusterOptions } from '../test/chaos/harness.ts';
import { holds } from '../test/web/judge.ts';
import { type RunningWeb, startWeb } from '../test/web/server.ts';
import { type CrawlFigures, readProbe } from './crawl-figures.ts';
import { removeTree, temporaryDirectory, undoAtExit } from './leftovers.ts';
import { loadNow } from './machine.ts';
import type { ProbeReport } from './probe.ts';

const probe = path.join(import.meta.dirname, 'probe.ts');
/** A crawl takes some seconds. A longer one has failed. */
const crawlMsMax = 120_000;

export interface CrawlOptions {
  readonly agents: number;
  readonly backups: number;
  readonly delayMs: number;
  readonly threads: number;
  readonly durability: 'power' | 'process';
  /** Whether pages are archived; by default as in the config. */
  readonly warc?: boolean;
  /** What to observe. Following each page has a small cost itself. */
  readonly follow: 'agent' | 'pages' | 'counts';
}

/** A web without slow or failing pages: waits and retries would disturb the figures. */
async function benchWeb(hosts: number, pages: number): Promise<RunningWeb> {
  return startWeb({ hosts, pages, port: 0, seed: 1, shares: { flaky: 0, slow: 0 } });
}

/**
 * Crawls its own web to the end.
 *
 * @throws if the crawl was not complete and polite, because its figures would mean nothing
 */
export async function crawlOnce(
  size: { readonly hosts: number; readonly pages: number },
  options: CrawlOptions,
): Promise<CrawlFigures> {
  const { directory, remove } = temporaryDirectory();
  const web = await benchWeb(size.hosts, size.pages);
  const { agents, backups, delayMs, threads, durability, follow, warc = true } = options;
  const made = {
    ...{ agents, backups, delayMs, threads, web, heartbeatMs: 500, suspectAfterMs: 10_000 },
    config: { storage: { durability }, archive: { warc } },
  };
  try {
    return await withCluster(made, async (cluster) => {
      const load = loadNow();
      await Promise.all(cluster.ids.map((id) => cluster.start(id, probed(directory, id, follow))));
      const { judgement, ends } = await cluster.finish(crawlMsMax);
      if (!holds(judgement) || ends.some(({ code }) => code !== 0)) {
        throw new Error(`not a clean crawl: ${JSON.stringify(judgement)}\n${cluster.said()}`);
      }
      const reports = cluster.ids.map((id) => readProbe(path.join(directory, `${id}.json`)));
      return { ...figuresOf(reports, judgement.fetched, web), load };
    });
  } finally {
    await web.stop();
    remove();
  }
}

/** A cluster that is removed with its files when `use` has ended or this process exits. */
export async function withCluster<T>(
  options: ClusterOptions,
  use: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const after: (() => unknown)[] = [];
  const cluster = await Cluster.make(
    { after: (act) => void after.push(act as () => unknown) },
    options,
  );
  const forget = undoAtExit(() => {
    // Kills at once. Only its promise would need time that an exit does not have.
    void cluster.powerLoss();
    removeTree(path.dirname(cluster.config));
  });
  try {
    return await use(cluster);
  } finally {
    for (const act of after) await act();
    forget();
  }
}

function probed(directory: string, id: string, follow: string) {
  return {
    nodeFlags: ['--import', probe],
    env: { UBIRING_PROBE: path.join(directory, `${id}.json`), UBIRING_PROBE_FOLLOW: follow },
  };
}

function figuresOf(agents: readonly ProbeReport[], pages: number, web: RunningWeb) {
  const sum = (of: (report: ProbeReport) => number) => agents.reduce((s, a) => s + of(a), 0);
  const requests = web.requests();
  let firstMs = Number.POSITIVE_INFINITY;
  let lastMs = 0;
  for (const { startMs, endMs } of requests) {
    firstMs = Math.min(firstMs, startMs);
    lastMs = Math.max(lastMs, endMs);
  }
  return {
    agents,
    pages,
    seconds: (lastMs - firstMs) / 1000,
    crawlCpuMs: sum(({ cpuMs, startCpuMs }) => cpuMs - (startCpuMs ?? 0)),
  };
}
