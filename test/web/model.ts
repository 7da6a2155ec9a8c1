// The synthetic web: any number of hosts and pages that follow from a seed, so that the requests of
// a complete and polite crawl are known in advance. Nothing is stored: each answer is computed from
// the numbers of the host and the page. The hosts form a tree, and so do the pages of each host.
// These trees are the only sure way to a page; dense webs add random links.
import { draw, drawOne, drawShare, topic } from './draw.ts';
import { type PartialWebOptions, type Shares, type WebOptions, webOptions } from './options.ts';

/** Kinds of pages. Only `plain`, `flaky` and `slow` pages have children. */
export type PageKind =
  | 'plain'
  | 'flaky'
  | 'slow'
  | 'missing'
  | 'gone'
  | 'broken'
  | 'binary'
  | 'private'
  | 'nofollow';

/** The kinds of places at a path of a host. */
export type Place =
  | { readonly kind: 'robots' }
  | { readonly kind: 'page'; readonly page: number }
  /** Redirects to a page of the same host. */
  | { readonly kind: 'hop'; readonly page: number }
  /** Has a meta refresh to a page of the same host, or a frame with it. */
  | { readonly kind: 'refresh'; readonly page: number }
  /** Redirects to the first page of another host. */
  | { readonly kind: 'door'; readonly host: number }
  /** Has only nofollow links to it. */
  | { readonly kind: 'hidden'; readonly page: number }
  | { readonly kind: 'trap'; readonly month: number };

export interface Link {
  readonly host: number;
  /** Path and query. */
  readonly path: string;
  readonly nofollow: boolean;
}

/**
 * Whether a complete polite crawl must, may or must not request a URL, or cannot know it.
 */
export type Verdict = 'must' | 'may' | 'never' | 'unknown';

/** Children of a page or host: few enough for deep subtrees, while 10,000 pages stay 9 deep. */
const fan = 3;
/** Sizes of hosts as multiples of the mean. Their own mean is 1. */
const sizes = [0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.7, 3] as const;
/** Number of directories of a host: enough for links between them. */
const directories = 7;

export class SyntheticWeb {
  readonly options: WebOptions;

  /** Throws a RangeError if the options are invalid. */
  constructor(options: PartialWebOptions = {}) {
    this.options = webOptions(options);
  }

  /** IPv4 address of host `i`. The last byte is never 0 or 255. */
  address(i: number): string {
    return `127.${this.options.net}.${Math.floor(i / 254)}.${(i % 254) + 1}`;
  }

  /** The host at an IPv4 address, or -1. */
  hostOf(address: string): number {
    const [first, net, high = 0, low = 0] = address.split('.').map(Number);
    const host = high * 254 + low - 1;
    const known = first === 127 && net === this.options.net && low >= 1 && low <= 254;
    return known && host < this.options.hosts ? host : -1;
  }

  /** The scheme of all hosts, `http:` or `https:`. */
  get protocol(): 'http:' | 'https:' {
    return this.options.tls ? 'https:' : 'http:';
  }

  origin(i: number): string {
    return `${this.protocol}//${this.address(i)}:${this.options.port}`;
  }

  /** Number of pages of host `i`, at least 1. */
  size(i: number): number {
    const { seed, pages } = this.options;
    return Math.max(1, Math.round(pages * drawOne(sizes, seed, topic.size, i)));
  }

  /** Whether host `i` has a robots.txt, which then disallows /private/. */
  hasRobots(i: number): boolean {
    return drawShare(this.options.seed, topic.robots, i) >= this.options.shares.noRobots;
  }

  /** Whether page `k` of host `i` has children. */
  inner(i: number, k: number): boolean {
    return k === 0 || fan * k + 1 < this.size(i);
  }

  kind(i: number, k: number): PageKind {
    if (k === 0) return 'plain';
    let left = drawShare(this.options.seed, topic.kind, i, k);
    const kinds = this.inner(i, k) ? innerKinds : leafKinds;
    for (const kind of kinds) {
      left -= this.options.shares[kind];
      if (left < 0) return kind;
    }
    return 'plain';
  }

  /** Path and query of page `k` of host `i`. */
  path(i: number, k: number): string {
    if (k === 0) return '/';
    const kind = this.kind(i, k);
    if (kind === 'private') return `/private/p${k}.html`;
    if (kind === 'binary') return `/files/p${k}.png`;
    const query = draw(this.options.seed, topic.address, i, k) % 6 === 0;
    return query ? `/list?dir=${k % directories}&page=${k}` : `/d${k % directories}/p${k}.html`;
  }

  /** The step between the links to page `k` of host `i` and the page itself. */
  hop(i: number, k: number): 'none' | 'hop' | 'refresh' {
    if (k === 0) return 'none';
    const { redirect, refresh } = this.options.shares;
    const share = drawShare(this.options.seed, topic.hop, i, k);
    if (share < redirect) return 'hop';
    return share < redirect + refresh ? 'refresh' : 'none';
  }

  /** The path in links to page `k` of host `i`. */
  entry(i: number, k: number): string {
    const hop = this.hop(i, k);
    if (hop === 'hop') return `/go/p${k}`;
    return hop === 'refresh' ? `/wait/p${k}.html` : this.path(i, k);
  }

  /** Whether host `j` is reached by a redirect from its parent host. */
  hasDoor(j: number): boolean {
    const share = drawShare(this.options.seed, topic.hostHop, j);
    return j > 0 && share < this.options.shares.crossRedirect;
  }

  /** Whether page `k` of host `i` has a nofollow link to a hidden page. */
  hides(i: number, k: number): boolean {
    const kind = this.kind(i, k);
    if (kind === 'nofollow') return true;
    const share = drawShare(this.options.seed, topic.nofollow, i, k);
    return this.inner(i, k) && share < this.options.shares.nofollow;
  }

  /** All links of page `k` of host `i`, in the order of the page. */
  links(i: number, k: number): Link[] {
    const kind = this.kind(i, k);
    const links: Link[] = [];
    const add = (host: number, path: string, nofollow = false) =>
      links.push({ host, path, nofollow });
    for (let c = fan * k + 1; c <= fan * k + fan && c < this.size(i); c++) {
      add(i, this.entry(i, c));
    }
    for (let j = fan * i + 1; j <= fan * i + fan && j < this.options.hosts; j++) {
      if (this.#doorPage(j) !== k) continue;
      if (this.hasDoor(j)) add(i, `/out/h${j}`);
      else add(j, '/');
    }
    if (this.hides(i, k)) add(i, `/hidden/p${k}.html`, true);
    if (kind === 'nofollow') return links;
    if (k === 0 && this.#hasTrap(i)) add(i, '/trap/0');
    if (!this.options.sparse) this.#linksAtRandom(i, k, links, add);
    return links;
  }

  /** The place at `target` (path and query as requested) of host `i`; null: 404. */
  place(i: number, target: string): Place | null {
    if (i < 0 || i >= this.options.hosts) return null;
    const plain = plainTarget(target);
    if (plain === '/') return { kind: 'page', page: 0 };
    if (plain === '/robots.txt') return { kind: 'robots' };
    const n = Number(lastNumber.exec(plain)?.[1] ?? -1);
    if (plain === `/trap/${n}` || plain === `/trap/${n}?view=week`) {
      return this.#hasTrap(i) ? { kind: 'trap', month: n } : null;
    }
    if (plain === `/out/h${n}`) {
      const here = n > 0 && n < this.options.hosts && parentOf(n) === i;
      return here && this.hasDoor(n) ? { kind: 'door', host: n } : null;
    }
    if (n < 0 || n >= this.size(i)) return null;
    if (plain === `/hidden/p${n}.html`) {
      return this.hides(i, n) ? { kind: 'hidden', page: n } : null;
    }
    if (plain === this.path(i, n)) return { kind: 'page', page: n };
    const hop = this.hop(i, n);
    return hop !== 'none' && plain === this.entry(i, n) ? { kind: hop, page: n } : null;
  }

  /** The verdict on `target`, a path of host `i`. */
  verdict(i: number, target: string): Verdict {
    const place = this.place(i, target);
    if (place === null) return 'unknown';
    if (place.kind === 'robots') return 'may';
    if (place.kind === 'hidden') return 'never';
    if (place.kind === 'trap') return this.options.trap === 'open' ? 'may' : 'never';
    if (place.kind !== 'page') return 'must';
    const kind = this.kind(i, place.page);
    if (kind === 'private' && this.hasRobots(i)) return 'never';
    return kind === 'binary' ? 'may' : 'must';
  }

  /**
   * The URLs that a complete polite crawl from the first page of host 0 requests, and those that it
   * must never request (only the first of an endless trap). A crawler may request any others.
   */
  expected(): { must: Set<string>; never: Set<string> } {
    const must = new Set<string>();
    const never = new Set<string>();
    const note = (host: number, path: string) => {
      const verdict = this.verdict(host, path);
      if (verdict === 'must') must.add(this.origin(host) + path);
      if (verdict === 'never') never.add(this.origin(host) + path);
    };
    for (let i = 0; i < this.options.hosts; i++) {
      if (this.hasDoor(i)) note(parentOf(i), `/out/h${i}`);
      if (this.#hasTrap(i)) note(i, '/trap/0');
      for (let k = 0; k < this.size(i); k++) {
        note(i, this.path(i, k));
        note(i, this.entry(i, k));
        if (this.hides(i, k)) note(i, `/hidden/p${k}.html`);
      }
    }
    return { must, never };
  }

  /** The page of the parent of host `j` that leads to `j`: one with children, or the first. */
  #doorPage(j: number): number {
    const parent = parentOf(j);
    const inner = Math.max(1, Math.ceil((this.size(parent) - 1) / fan));
    return draw(this.options.seed, topic.door, j) % inner;
  }

  /** A disallowed trap exists only at hosts with a robots.txt. */
  #hasTrap(i: number): boolean {
    return (
      this.options.trap === 'open' || (this.options.trap === 'disallowed' && this.hasRobots(i))
    );
  }

  #linksAtRandom(
    i: number,
    k: number,
    links: readonly Link[],
    add: (host: number, path: string) => void,
  ): void {
    const { seed, hosts, linksPerPage, crossLinks } = this.options;
    for (let x = links.length; x < linksPerPage; x++) {
      add(i, this.entry(i, draw(seed, topic.links, i, k, x) % this.size(i)));
    }
    for (let x = 0; x < crossLinks; x++) {
      const host = draw(seed, topic.crossHost, i, k, x) % hosts;
      const page = draw(seed, topic.crossPage, i, k, x) % this.size(host);
      add(host, this.entry(host, page));
    }
  }
}

/** Parent of a host in the tree of hosts. */
function parentOf(host: number): number {
  return Math.floor((host - 1) / fan);
}

const innerKinds = ['flaky', 'slow'] as const satisfies readonly (PageKind & keyof Shares)[];
const leafKinds = [
  ...innerKinds,
  ...(['missing', 'gone', 'broken', 'binary', 'private', 'nofollow'] as const),
] as const satisfies readonly (PageKind & keyof Shares)[];

/** The last number of every path, except `/` and `/robots.txt`, is the number of its page. */
const lastNumber = /(\d{1,7})\D*$/;

const escaped = /%([0-9a-f]{2})/gi;
const unreserved = /[A-Za-z0-9._~-]/;

/** Decodes escaped unreserved characters of `target`, so that two spellings of a URL become one. */
export function plainTarget(target: string): string {
  if (!target.includes('%')) return target;
  return target.replace(escaped, (whole, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return unreserved.test(character) ? character : whole.toUpperCase();
  });
}
