// The contenders of the comparison: how each is started on a web from one seed, which features it
// lacks, and what must be installed for it. All use the same number of requests at a time, and none
// waits between requests. Rivals are configured in their favour, as their files in `rivals/`
// explain.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { enableCompileCache } from 'node:module';
import path from 'node:path';
import { launchedAgent } from './launched.ts';
import type { Program } from './metered-process.ts';
import { plainConfig } from './plain-cluster.ts';
import { freePorts } from './ports.ts';

/** The parameters of a crawl that is about to begin. */
export interface Scene {
  /** Empty, for the files of the contender. */
  readonly directory: string;
  readonly seed: string;
  /** The first page of every host. */
  readonly hosts: readonly string[];
  /** Requests at a time; for a cluster, those of each agent. */
  readonly threads: number;
}

export interface Contender {
  /** For `--only` and the figures. */
  readonly id: string;
  readonly title: string;
  readonly keeps: string;
  /** One program for each agent. They run at the same time. */
  readonly programs: (scene: Scene) => Promise<Program[]>;
  /** What is missing and how to install it; null if nothing is missing. */
  readonly missing: () => string | null;
}

const rivals = path.join(import.meta.dirname, 'rivals');
const node = process.execPath;
/** Debian's own Python, because another one on the PATH does not see the packages of the system. */
const python = '/usr/bin/python3';

const nothing = 'nothing';

// Like `launch`, whose agents reuse the compiled code of earlier ones.
enableCompileCache();

/** The program to which the others are compared. */
export const bareId = 'bare-got';

export const contenders: readonly Contender[] = [
  bare('got', 'got + htmlparser2, bare loop'),
  bare('http', 'node:http + htmlparser2, bare loop'),
  bare('undici', 'undici + htmlparser2, bare loop'),
  ...[1, 2, 4].flatMap((agents) => [ubiring(agents, 'light'), ubiring(agents, 'safe')]),
  apart(4),
  ubiring(1, 'light', 'node'),
  ubiring(1, 'safe', 'node'),
  {
    id: 'spider-rs',
    title: 'spider-rs 0.0.157 (Rust)',
    keeps: nothing,
    programs: async (scene) => [script('spider-rs.js', scene, scene.hosts)],
    missing: () => packageMissing('@spider-rs/spider-rs'),
  },
  {
    id: 'simplecrawler',
    title: 'simplecrawler 1.1.9',
    keeps: nothing,
    programs: async (scene) => [script('simplecrawler.js', scene)],
    missing: () => packageMissing('simplecrawler'),
  },
  {
    id: 'httrack',
    title: `HTTrack${versionOf(['httrack', '--version'], /version ([\d.]+-\d+)/)}`,
    keeps: 'a mirror',
    programs: async ({ directory, seed, threads }) => [
      { command: ['httrack', seed, ...httrackFlags(threads)], cwd: directory },
    ],
    missing: () => commandMissing(['httrack', '--version'], 'httrack'),
  },
  {
    id: 'crawlee',
    title: 'Crawlee 3.18.1 (CheerioCrawler)',
    keeps: nothing,
    programs: async (scene) => [script('crawlee.js', scene)],
    missing: () => packageMissing('@crawlee/cheerio'),
  },
  {
    id: 'scrapy',
    title: `Scrapy${versionOf([python, '-c', 'import scrapy; print(scrapy.__version__)'], /([\d.]+)/)}`,
    keeps: nothing,
    programs: async ({ directory, seed, threads }) => [
      {
        command: [python, path.join(rivals, 'scrapy-spider.py'), String(threads), seed],
        cwd: directory,
      },
    ],
    missing: () => commandMissing([python, '-c', 'import scrapy'], 'python3-scrapy'),
  },
];

function bare(client: string, title: string): Contender {
  const program = path.join(import.meta.dirname, 'bare-loop.ts');
  return {
    ...{ id: `bare-${client}`, title, keeps: nothing },
    programs: async ({ directory, seed, threads }) => [
      { command: [node, program, client, String(threads), seed], cwd: directory },
    ],
    missing: () => (client === 'undici' ? packageMissing('undici') : null),
  };
}

/**
 * `light` has no copies and no archive. `safe` has one copy of everything and all pages in WARC.
 */
function ubiring(
  agents: number,
  mode: 'light' | 'safe',
  client: 'got' | 'node' = 'got',
): Contender {
  const isSafe = mode === 'safe';
  const size = agents === 1 ? '1 agent' : `${agents} agents`;
  const ofClient = client === 'got' ? '' : `, http.client: ${client}`;
  return {
    id: `ubiring-${agents}${isSafe ? '-safe' : ''}${client === 'got' ? '' : `-${client}`}`,
    title: `ubiring, ${size}${isSafe ? ', 1 backup, WARC' : ''}${ofClient}`,
    keeps: isSafe ? 'state, copies, archive' : 'state',
    missing: () => null,
    programs: async (scene) => {
      const file = path.join(scene.directory, 'crawl.json');
      const ports = await freePorts(agents);
      fs.writeFileSync(file, JSON.stringify(configOf(ports, isSafe, client, scene)));
      return Array.from({ length: agents }, (_, k) => {
        const { line, env, input } = launchedAgent(file, `a${k + 1}`);
        return { command: [node, ...line], cwd: scene.directory, env, input };
      });
    },
  };
}

/**
 * Independent crawls at the same time. Each has its share of the hosts and a seed on each of them.
 * Their additional cost over one crawl is the price of several processes. The additional cost of a
 * cluster of as many agents over them is the price of being a cluster.
 */
function apart(crawls: number): Contender {
  return {
    id: `ubiring-${crawls}-apart`,
    title: `ubiring, ${crawls} crawls of 1 agent, apart`,
    keeps: 'state',
    missing: () => null,
    programs: async ({ directory, hosts, threads }) =>
      Promise.all(
        Array.from({ length: crawls }, async (_, k) => {
          const seeds = hosts.length < crawls ? hosts : hosts.filter((_, i) => i % crawls === k);
          const own = path.join(directory, `crawl-${k}`);
          fs.mkdirSync(own);
          const file = path.join(own, 'crawl.json');
          const ports = await freePorts(1);
          const of = configOf(ports, false, 'got', { directory: own, seed: '', hosts, threads });
          const scope = { hosts: seeds.map((seed) => new URL(seed).hostname) };
          fs.writeFileSync(file, JSON.stringify({ ...of, seeds, scope }));
          const { line, env, input } = launchedAgent(file, 'a1');
          return { command: [node, ...line] as const, cwd: own, env, input };
        }),
      ),
  };
}

function configOf(
  ports: readonly number[],
  isSafe: boolean,
  client: 'got' | 'node',
  { seed, threads, directory }: Scene,
) {
  return plainConfig({
    ...{ ports, seed, threads, client, durability: 'power' },
    ...{ backups: isSafe ? 1 : 0, warc: isSafe, dataDir: path.join(directory, 'data') },
  });
}

function script(file: string, scene: Scene, more: readonly string[] = []): Program {
  const { directory, seed, threads } = scene;
  return {
    command: [node, path.join(rivals, file), String(threads), seed, ...more],
    cwd: directory,
  };
}

/** All of loopback, the given number of connections, no limit of their rate or the depth. */
function httrackFlags(threads: number): string[] {
  const limits = ['--disable-security-limits', '-%c0', '-A0', '-r100', `-c${threads}`];
  return ['-O', '.', '-q', '-%v0', '-I0', '-e', '+127.*', ...limits];
}

function packageMissing(name: string): string | null {
  const isHere = fs.existsSync(path.join(rivals, 'node_modules', name, 'package.json'));
  return isHere ? null : `${name} is not installed: npm install in bench/rivals`;
}

function commandMissing(command: readonly string[], debianPackage: string): string | null {
  const { status } = spawnSync(command[0] ?? '', command.slice(1), { stdio: 'ignore' });
  return status === 0 ? null : `not installed; on Debian: apt-get install ${debianPackage}`;
}

function versionOf([program = '', ...args]: readonly string[], pattern: RegExp): string {
  const { stdout } = spawnSync(program, args, { encoding: 'utf8' });
  const version = pattern.exec(stdout ?? '')?.[1];
  return version === undefined ? '' : ` ${version}`;
}
