// An endless web, computed by a formula, for crawls of hours. Page n of each host links to its page
// n + 1 and to page n of the next host, until the site is closed. After that new pages have no
// links, so the crawl can end. It keeps one byte for each page instead of a log, and checks
// politeness when requests arrive. Hosts are 127.47.0.1 and the next ones, told apart by the
// address of the connection.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Random } from '../simulation/random.ts';
import { steadyMs } from './harness-process.ts';

/** The result of a crawl of the site, as the server saw it. */
export interface SoakJudgement {
  readonly pages: number;
  /** Linked from a complete answer, or given as a seed, but never answered. */
  readonly missing: readonly string[];
  /** Number of repeated answers. */
  readonly overlap: number;
  /** Requests that arrived while another was open at their host, or too early after one. */
  readonly strays: { readonly count: number; readonly samples: readonly string[] };
}

export interface SoakSite {
  readonly seeds: readonly string[];
  origin(host: number): string;
  /** Number of pages answered so far. */
  pages(): number;
  /** From now on new pages have no links. */
  close(): void;
  /** @param seeded - targets that were added while the crawl ran, each with its host */
  judge(seeded: readonly { host: number; target: string }[]): SoakJudgement;
  stop(): Promise<void>;
}

const net = 47;
/** Minimum duration of an answer, so that two requests at once overlap. */
const answerMs = 5;
/** Longer than any delay, so that the server closes no kept connection during a crawl. */
const keepAliveMs = 60_000;
const wordsOnPage = 150;
/** Maximum number of samples of violations. */
const samplesMax = 20;
/** Tolerance for timers that fire early. */
const slackMs = 1;

/** The log of one host. */
class HostLog {
  /** Number of answers for each page, counted up to 255. */
  #answers = new Uint8Array(1024);
  /** 1: page n was answered with links. */
  #linking = new Uint8Array(1024);
  /** Targets outside the formula. */
  readonly others = new Map<string, number>();
  open = 0;
  lastEndMs = Number.NEGATIVE_INFINITY;

  answered(page: number, links: boolean): void {
    this.#grow(page);
    if (this.#answers[page]! < 255) this.#answers[page]!++;
    if (links) this.#linking[page] = 1;
  }

  isLinking(page: number): boolean {
    return this.#linking[page] === 1;
  }

  answersOf(page: number): number {
    return this.#answers[page] ?? 0;
  }

  get pagesMax(): number {
    return this.#answers.length;
  }

  #grow(page: number): void {
    if (page < this.#answers.length) return;
    const length = 2 * Math.max(page, this.#answers.length);
    const [answers, linking] = [new Uint8Array(length), new Uint8Array(length)];
    answers.set(this.#answers);
    linking.set(this.#linking);
    this.#answers = answers;
    this.#linking = linking;
  }
}

/**
 * Serves `hosts` hosts. Records each request that arrives less than `delayMs` after the previous
 * one ended.
 */
export async function startSoakSite(hosts: number, delayMs: number): Promise<SoakSite> {
  const logs = Array.from({ length: hosts }, () => new HostLog());
  const strays = { count: 0, samples: [] as string[] };
  let [pages, isClosed] = [0, false];
  const note = (host: number, target: string, gapMs: number) => {
    strays.count++;
    if (strays.samples.length === samplesMax) return;
    strays.samples.push(`${host}${target} after ${gapMs.toFixed(1)} ms`);
  };
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const host = Number(request.socket.localAddress?.split('.').at(-1)) - 1;
    const log = logs[host];
    const target = request.url ?? '/';
    if (log === undefined) return void response.writeHead(404).end();
    const gapMs = log.open > 0 ? -1 : steadyMs() - log.lastEndMs;
    if (gapMs < delayMs - slackMs) note(host, target, gapMs);
    log.open++;
    response.on('close', () => {
      log.open--;
      log.lastEndMs = Math.max(log.lastEndMs, endMs ?? steadyMs());
    });
    const page = /^\/\d+$/.test(target) ? Number(target.slice(1)) : null;
    const links = page !== null && (!isClosed || log.isLinking(page));
    let endMs: number | undefined;
    setTimeout(() => {
      if (response.destroyed) return;
      const isRobots = target === '/robots.txt';
      response.writeHead(200, { 'content-type': isRobots ? 'text/plain' : 'text/html' });
      // Taken before the write, because the agent may read the answer before the next line runs.
      endMs = steadyMs();
      response.end(isRobots ? '' : body(host, page ?? 0, links));
      if (isRobots) return;
      pages++;
      if (page !== null) log.answered(page, links);
      else log.others.set(target, (log.others.get(target) ?? 0) + 1);
    }, answerMs);
    return undefined;
  };
  const server = createServer({ keepAliveTimeout: keepAliveMs }, serve);
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const origin = (host: number) => `http://127.${net}.0.${host + 1}:${port}`;
  const body = (host: number, page: number, links: boolean) => {
    const targets = [`/${page + 1}`, `${origin((host + 1) % hosts)}/${page}`];
    const anchors = targets.map((to) => `<a href="${to}">on</a>`).join(' ');
    return `<title>${page}</title><p>${words(host, page)}</p>${links ? anchors : ''}`;
  };
  return {
    seeds: logs.map((_, host) => `${origin(host)}/0`),
    origin,
    pages: () => pages,
    close: () => {
      isClosed = true;
    },
    judge: (seeded) => ({ pages, strays, ...coverage(logs, seeded) }),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

function coverage(
  logs: readonly HostLog[],
  seeded: readonly { host: number; target: string }[],
): Pick<SoakJudgement, 'missing' | 'overlap'> {
  const missing: string[] = [];
  let overlap = 0;
  const miss = (host: number, target: string) => {
    if (missing.length < samplesMax) missing.push(`${host}${target}`);
  };
  for (const [host, log] of logs.entries()) {
    if (log.answersOf(0) === 0) miss(host, '/0');
    for (let page = 0; page < log.pagesMax; page++) {
      overlap += Math.max(0, log.answersOf(page) - 1);
      if (!log.isLinking(page)) continue;
      if (log.answersOf(page + 1) === 0) miss(host, `/${page + 1}`);
      const next = (host + 1) % logs.length;
      if (logs[next]!.answersOf(page) === 0) miss(next, `/${page}`);
    }
    for (const answers of log.others.values()) overlap += answers - 1;
  }
  for (const { host, target } of seeded) if (!logs[host]!.others.has(target)) miss(host, target);
  return { missing, overlap };
}

/** Makes all pages different, because similar hosts would count as traps. */
function words(host: number, page: number): string {
  const random = new Random(host * 1_000_003 + page);
  const word = () => random.whole(36 ** 3, 36 ** 6).toString(36);
  return Array.from({ length: wordsOnPage }, word).join(' ');
}
