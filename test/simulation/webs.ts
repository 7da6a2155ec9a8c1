// Webs for the simulated cluster: pages such as `http://h1.test/p1` with their links, and the
// answers of these pages.

import type { PageRequest } from '../../agent/core/protocol/effects.ts';
import type { PageRow } from '../../agent/core/protocol/messages.ts';
import type { Outcome } from '../../agent/core/protocol/outcome.ts';
import { splitIdentity } from '../../agent/url/url-key.ts';
import { type OddAnswer, type OddPages, oddAnswer } from './odd-pages.ts';
import type { Random } from './random.ts';
import { forbiddenAt, type RobotsLeads, robotsFile } from './robots-web.ts';

/** Links of each page. */
export type Web = ReadonlyMap<string, readonly string[]>;

/** The answer of a busy server, with the wait that it names. */
export interface Busy {
  readonly status: 429 | 502 | 503;
  readonly retryAfterMs: number | null;
}

const page = (h: number, p: number) => `http://h${h}.test/p${p}`;

/**
 * Hosts h0, h1 and so on. Each is a chain of pages with a branch to the next host, so each page has
 * one way in.
 */
export function chainWeb(hosts: number, pages: number): Map<string, string[]> {
  const web = new Map<string, string[]>();
  for (let h = 0; h < hosts; h++) {
    for (let p = 0; p < pages; p++) {
      const links: string[] = [];
      if (p + 1 < pages) links.push(page(h, p + 1));
      for (const next of [2 * h + 1, 2 * h + 2]) {
        if (next < hosts && p === next % pages) links.push(page(next, 0));
      }
      web.set(page(h, p), links);
    }
  }
  return web;
}

/** A tree of pages over all hosts, long rather than wide. Every page has one way in. */
export function drawWeb(random: Random, hosts: number, pages: number): Map<string, string[]> {
  const rest: string[] = [];
  for (let h = 0; h < hosts; h++) {
    for (let p = 0; p < pages; p++) rest.push(page(h, p));
  }
  const web = new Map<string, string[]>([[rest.shift()!, []]]);
  while (rest.length > 0) {
    const [url] = rest.splice(random.whole(0, rest.length - 1), 1);
    const tail = [...web.keys()].slice(-6);
    web.get(random.pick(tail))!.push(url!);
    web.set(url!, []);
  }
  return web;
}

/**
 * Adds links between the pages, as on real sites, so that most URLs are found again after their
 * owners accepted them. Pages without links stay unchanged, because they name forbidden URLs.
 */
export function addCrossLinks(web: Map<string, string[]>, random: Random): void {
  const all = [...web.keys()];
  for (const named of web.values()) {
    if (named.length === 0) continue;
    for (let n = random.whole(0, 3); n > 0; n--) named.push(random.pick(all));
  }
}

/** A forbidden port. URLs with this port are skipped at once. */
const REFUSED_PORT = 25;

/**
 * Makes a page expensive: adds links to one host or several. These URLs are skipped when they are
 * recorded, so they need work, rows, copies and messages, but no requests.
 */
export function addManyLinks(web: Map<string, string[]>, random: Random, count: number): void {
  const pages = [...web].filter(([, named]) => named.length > 0);
  const hosts = [...new Set([...web.keys()].map((url) => new URL(url).hostname))];
  const at = hosts.slice(0, random.pick([1, 3, hosts.length]));
  const [url, named] = random.pick(pages);
  const start = new URL(url).pathname.slice(1);
  for (let n = 0; n < count; n++) {
    named.push(`http://${at[n % at.length]}:${REFUSED_PORT}/${start}/${n}`);
  }
}

/**
 * Every page links to the next page of each host, so an agent that takes over a host has work on
 * it.
 */
export function denseWeb(hosts: number, pages: number): Map<string, string[]> {
  const web = new Map<string, string[]>();
  for (let p = 0; p < pages; p++) {
    for (let h = 0; h < hosts; h++) {
      web.set(
        page(h, p),
        p + 1 < pages ? Array.from({ length: hosts }, (_, x) => page(x, p + 1)) : [],
      );
    }
  }
  return web;
}

/** `root` is a page to which every page links. */
interface Answering {
  readonly web: Web;
  readonly root: string | undefined;
  readonly endedAt: number;
  readonly durationMs: number;
  /** The server answers with an error. */
  readonly hasTrouble: boolean;
  readonly busy: Busy | null;
  readonly odd: OddAnswer | null;
  readonly oddPages: OddPages;
  readonly leads: RobotsLeads;
}

/**
 * The last pages link to a URL that robots.txt forbids: skipping it is the last event of the host.
 * Every page links to the root, which is known, so its owner sends an acknowledgement.
 */
export function answerTo(request: PageRequest, answering: Answering): Outcome {
  const { web, root, endedAt, durationMs, hasTrouble, busy, odd, oddPages, leads } = answering;
  const common = { request, endedAt, durationMs, ip: null };
  if (busy) return busyAnswer(busy, common);
  if (odd) return oddAnswer(odd, common);
  if (request.kind === 'robots') {
    return {
      ...common,
      kind: 'robots',
      answer: hasTrouble
        ? { kind: 'unreachable', status: 500, error: null, retryAfterMs: null, reason: 'HTTP 500' }
        : robotsFile(request.host, leads),
    };
  }
  // Pages never change, so a conditional request always gets this answer.
  if (request.previous?.etag !== undefined) return unchanged(request.previous, common);
  const named = web.get(request.url) ?? [];
  const urls = named.length > 0 ? named : forbiddenAt(request.host, leads);
  return {
    ...common,
    kind: 'response',
    status: 200,
    retryAfterMs: null,
    contentType: 'text/html',
    bytes: 100,
    truncated: false,
    digest: null,
    simhash: null,
    redirectTo: null,
    note: null,
    etag: 'same',
    links: [...urls, ...(root ? [root] : [])].map((url) => {
      return { ...oddPages.spelled(url), host: splitIdentity(url)!.host };
    }),
    outOfScope: 0,
  };
}

type Common = Pick<Outcome, 'request' | 'endedAt' | 'durationMs' | 'ip'>;

function busyAnswer({ status, retryAfterMs }: Busy, common: Common): Outcome {
  if (common.request.kind === 'robots') {
    const reason = `HTTP ${status}`;
    const answer = { kind: 'unreachable', status, error: null, retryAfterMs, reason } as const;
    return { ...common, kind: 'robots', answer };
  }
  const none = { contentType: null, bytes: 0, digest: null, simhash: null, redirectTo: null };
  const rest = { truncated: false, note: null, links: [], outOfScope: 0 };
  return { ...common, kind: 'response', status, retryAfterMs, ...none, ...rest };
}

function unchanged(former: PageRow, common: Common): Outcome {
  const { status, contentType, bytes, digest } = former;
  const same = { contentType, bytes, digest, truncated: false, simhash: null, etag: 'same' };
  const none = { retryAfterMs: null, redirectTo: null, note: null, links: [], outOfScope: 0 };
  return { ...common, kind: 'response', status: status ?? 200, ...same, ...none, unchanged: true };
}
