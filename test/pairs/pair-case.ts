// One case of the pair suite: the real command crawls the hosts of a row with the row's config. One
// oracle for all rows judges the crawl by the servers' logs, the views and the audit.

import fs from 'node:fs';
import path from 'node:path';
import { freePorts } from '../../bench/ports.ts';
import { run, Scratch, start } from '../integration/cli-process.ts';
import { blurMs } from '../integration/host-servers.ts';
import { type BehaviourHost, BehaviourWeb } from '../web/behaviour-web.ts';
import { isBehaviour, mappedPath, sitemapPath } from '../web/behaviours.ts';
import { type ForwardProxy, startForwardProxy } from '../web/forward-proxy.ts';
import { namesFlags } from '../web/shared-names.ts';
import type { Row } from './covering-array.ts';
import { configOf, hostDelayMs, hostFactors, isProxied, reachOf } from './factors.ts';

interface PageRow {
  readonly url: string;
  readonly fetch_url: string;
  readonly host: string;
  readonly status: number | null;
  readonly error: string | null;
}

/**
 * @param network - the first three bytes of the hosts' addresses; no other web uses them
 * @returns the violations, one per line
 */
export async function runPairCase(row: Row, network: string): Promise<string[]> {
  const names = hostFactors.map((factor) => row[factor]!).filter(isBehaviour);
  const web = await BehaviourWeb.start(network, names, reachOf(row));
  const proxy = isProxied(row) ? await startForwardProxy() : null;
  const scratch = new Scratch();
  try {
    const config = await writeConfig(scratch, row, web, proxy);
    return await crawl(row, web, config);
  } finally {
    proxy?.stop();
    web.stop();
    scratch.clean();
  }
}

async function crawl(row: Row, web: BehaviourWeb, config: string): Promise<string[]> {
  for (let round = 1; round <= Number(row.rounds); round++) {
    const args = ['launch', config, ...(round > 1 ? ['--refresh'] : [])];
    const more = { NODE_OPTIONS: namesFlags.join(' ') };
    const { code, stdout, stderr } = await start(args, more).ended;
    if (code !== 0) return [`launch of round ${round} ended with ${code}: ${stderr}${stdout}`];
  }
  const pages = await query<PageRow>(
    config,
    'SELECT url, fetch_url, host, status, error FROM pages',
  );
  const suspects = await query<object>(config, `SELECT * FROM events WHERE kind = 'suspect'`);
  const audit = await run('audit', config);
  return [
    ...suspects.map((event) => `suspected: ${JSON.stringify(event)}`),
    ...(audit.code === 0 ? [] : [`audit: ${audit.code}: ${audit.stdout}${audit.stderr}`]),
    ...web.hosts.flatMap((host) => [
      ...missing(host, row, pages),
      ...misrecorded(host, pages),
      ...impolite(host, row),
    ]),
    ...crowded(web.hosts, row),
  ];
}

async function writeConfig(
  scratch: Scratch,
  row: Row,
  { hosts, authority }: BehaviourWeb,
  proxy: ForwardProxy | null,
): Promise<string> {
  const ports = await freePorts(Number(row.agents));
  if (authority) fs.writeFileSync(path.join(scratch.directory, 'authority.pem'), authority);
  return scratch.write('crawl.json', {
    ...configOf(row),
    name: 'pairs',
    seeds: hosts.map(({ origin }) => `${origin}/`),
    sitemaps: row.sitemaps === 'on' ? hosts.map(({ origin }) => `${origin}${sitemapPath}`) : [],
    scope: { hosts: hosts.map(({ hostname }) => hostname) },
    http: {
      userAgent: 'pairs (+https://example.org/)',
      allowPrivateAddresses: true,
      client: row.client,
      cookies: row.cookies === 'on',
      ...(authority ? { tls: { ca: 'authority.pem' } } : {}),
      ...(proxy ? { proxy: proxy.url } : {}),
    },
    cluster: {
      agents: ports.map((port, k) => ({ id: `a${k + 1}`, listen: `tcp://127.0.0.1:${port}` })),
      backups: Number(row.backups),
      quorum: row.quorum,
    },
    agent: { threads: 8, dataDir: 'data' },
    storage: { durability: 'process' },
  });
}

async function query<Found>(config: string, sql: string): Promise<Found[]> {
  const { code, stdout, stderr } = await run('query', config, sql, '--format', 'json');
  if (code !== 0) throw new Error(`query ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as Found[];
}

/** Every expected page is recorded, with the status that was served last. */
export function missing(host: BehaviourHost, row: Row, pages: readonly PageRow[]): string[] {
  const options = { dropTracking: row.dropTracking === 'on' };
  const expected = Object.entries({
    ...host.behaviour.expected(options),
    ...(row.sitemaps === 'on' ? { [mappedPath]: 200 } : {}),
  });
  const recorded = new Map(pages.map(({ url, status, error }) => [url, status ?? error]));
  return expected
    .map(([path, status]) => ({ path, status, is: recorded.get(`${host.origin}${path}`) }))
    .filter(({ status, is }) => is !== status)
    .map(({ path, status, is = 'absent' }) => `${host.name}: ${path} is ${is}, not ${status}`);
}

/** No page failed, and each has the status that was served last. */
export function misrecorded(host: BehaviourHost, pages: readonly PageRow[]): string[] {
  return pages
    .filter((page) => page.host === host.hostname)
    .map(({ fetch_url: url, status, error }) => {
      const path = url.slice(host.origin.length);
      const served = host.log.findLast((visit) => visit.path === path)?.status;
      return { path, served, recorded: status ?? error };
    })
    .filter(({ served, recorded }) => served !== recorded)
    .map(({ path, served, recorded }) => `${host.name}: ${path}: ${recorded}, served: ${served}`);
}

/** One request at a time, with the wait after each that the host and the config require. */
export function impolite(host: BehaviourHost, row: Row): string[] {
  const configMs = Math.max(hostDelayMs, ipDelayOf(row));
  const factor = Number(row.responseTimeFactor);
  return host.log.slice(1).flatMap(({ path, startMs }, k) => {
    const before = host.log[k]!;
    if (before.endMs === null || startMs < before.endMs) {
      return [`${host.name}: ${path} was requested while ${before.path} was answered`];
    }
    const tookMs = before.endMs - before.startMs;
    const waitMs = Math.max(configMs, before.waitMs, factor * tookMs);
    const gapMs = startMs - before.endMs;
    if (gapMs >= waitMs - blurMs) return [];
    return [`${host.name}: ${path} came ${gapMs} ms after ${before.path}, not ${waitMs} ms`];
  });
}

/** The delay of an address; 0 if the crawler does not know addresses. */
function ipDelayOf(row: Row): number {
  return isProxied(row) ? 0 : Number(row.ipDelayMs);
}

/**
 * Hosts that share an address get one request at a time, with the delay of the address between two.
 */
export function crowded(hosts: readonly BehaviourHost[], row: Row): string[] {
  const delayMs = ipDelayOf(row);
  if (row.addresses !== 'shared' || delayMs === 0) return [];
  const visits = hosts.flatMap(({ name, log }) => log.map((visit) => ({ ...visit, name })));
  const inOrder = visits.toSorted((a, b) => a.startMs - b.startMs);
  return inOrder.slice(1).flatMap(({ name, path: asked, startMs }, k) => {
    const before = inOrder[k]!;
    const gapMs = startMs - (before.endMs ?? Infinity);
    if (gapMs >= delayMs - blurMs) return [];
    return [`${name}: ${asked} came ${gapMs} ms after ${before.path} of ${before.name}`];
  });
}
