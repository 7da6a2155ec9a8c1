// One crawl of a plain web by a cluster of agents, and the resources that they used: the basis of
// the figures of a cluster's cost. The agents are started as `launch` starts them, and another
// process serves the web.

import fs from 'node:fs';
import path from 'node:path';
import { type CrawlFigures, readProbe } from './crawl-figures.ts';
import { launchedAgent } from './launched.ts';
import { temporaryDirectory } from './leftovers.ts';
import { loadNow } from './machine.ts';
import { runMetered } from './metered-process.ts';
import { serverHere, startServer } from './plain-server.ts';
import type { PlainWeb } from './plain-web.ts';
import { freePorts } from './ports.ts';

const probe = path.join(import.meta.dirname, 'probe.ts');
/** Eight agents take some two minutes for 40,000 pages. A longer crawl has failed. */
const crawlMsMax = 900_000;

export interface PlainClusterOptions {
  readonly agents: number;
  readonly backups: number;
  readonly threads: number;
  readonly client: 'got' | 'node';
  readonly warc: boolean;
  readonly durability: 'power' | 'process';
  /**
   * `counts` also counts statements and system calls, which has a small cost itself; `profile`
   * samples the main thread, which costs more.
   */
  readonly follow: 'agent' | 'counts' | 'profile';
  /** Crawls by that many networks, each with `agents` agents, and their Redis; absent: by one, without. */
  readonly shared?: { readonly networks: number; readonly redis: string; readonly batch: number };
}

/**
 * Crawls the web to the end.
 *
 * @param root - the directory to which the web was written
 * @throws if a page was not fetched, because the figures would mean nothing
 */
export async function crawlPlain(
  web: PlainWeb,
  root: string,
  options: PlainClusterOptions,
): Promise<CrawlFigures> {
  const { directory, remove } = temporaryDirectory();
  try {
    const scratch = path.join(directory, 'server');
    fs.mkdirSync(scratch);
    const server = await startServer(serverHere(), root, web.port, scratch);
    const load = loadNow();
    const launches = await launchesOf(web, directory, options);
    const programs = launches.map(({ file, id, report }) => {
      const { line, env, input } = launchedAgent(file, id);
      return {
        command: [process.execPath, '--import', probe, ...line] as const,
        cwd: directory,
        env: { ...env, UBIRING_PROBE: report, UBIRING_PROBE_FOLLOW: options.follow },
        input,
      };
    });
    const used = await runMetered(programs, crawlMsMax);
    const served = await server.stop();
    const missing = [...web.places()].filter((place) => !served.places.has(place)).length;
    if (missing > 0 || used.failures.length > 0) {
      throw new Error([`${missing} pages are missing`, ...used.failures].join('\n'));
    }
    const agents = launches.map(({ report }) => readProbe(report));
    const startCpuMs = agents.reduce((sum, one) => sum + (one.startCpuMs ?? 0), 0);
    return {
      ...{ agents, load, pages: web.size.pages, seconds: served.seconds },
      crawlCpuMs: used.cpuMs - startCpuMs,
    };
  } finally {
    remove();
  }
}

interface Launch {
  /** The config. */
  readonly file: string;
  readonly id: string;
  /** What the probe writes. */
  readonly report: string;
}

/** The agents of all networks. Each network begins at hosts of its own, so that they share the work. */
async function launchesOf(
  web: PlainWeb,
  directory: string,
  options: PlainClusterOptions,
): Promise<Launch[]> {
  const { shared, agents } = options;
  const names = Array.from({ length: shared?.networks ?? 1 }, (_, k) => `n${k + 1}`);
  const launches: Launch[] = [];
  for (const [k, network] of names.entries()) {
    const file = path.join(directory, `${network}.json`);
    const seed = `http://${web.addresses[k]}:${web.port}/`;
    const config = plainConfig({ ...options, ports: await freePorts(agents), seed });
    const networks = Object.fromEntries(names.map((name) => [name, shared?.redis]));
    const dedup = { mode: 'redis', network, networks, batch: shared?.batch };
    const dataDir = network;
    const own = web.addresses.filter((_, host) => host % names.length === k);
    const seeds = own.map((address) => `http://${address}:${web.port}/`);
    const agent = { ...config.agent, dataDir };
    const whole = { ...config, agent, ...(shared && { dedup, seeds }) };
    fs.writeFileSync(file, JSON.stringify(whole));
    for (const { id } of config.cluster.agents) {
      launches.push({ file, id, report: path.join(directory, `${network}-${id}.json`) });
    }
  }
  return launches;
}

/** Defaults, except for keys that make a crawl wait and those that are compared. */
export function plainConfig({
  ports,
  seed,
  backups,
  threads,
  client,
  warc,
  durability,
  dataDir = 'data',
}: Omit<PlainClusterOptions, 'agents' | 'follow'> & {
  readonly ports: readonly number[];
  readonly seed: string;
  readonly dataDir?: string;
}) {
  return {
    name: 'bench',
    seeds: [seed],
    scope: { hosts: ['*'] },
    politeness: { hostDelayMs: 0 },
    http: { userAgent: 'bench (+https://example.org/)', allowPrivateAddresses: true, client },
    cluster: {
      agents: ports.map((port, k) => ({ id: `a${k + 1}`, listen: `tcp://127.0.0.1:${port}` })),
      backups,
    },
    storage: { durability },
    archive: { warc },
    agent: { threads, dataDir },
  };
}
