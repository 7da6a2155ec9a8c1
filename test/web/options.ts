// The options of a synthetic web: its size, its shape and the share of awkward pages of each kind.
// By default a web contains everything except pages that would take minutes (always 500) or an
// endless crawl (an open trap). They are also the command-line flags of `node test/web/server.ts`.
import { parseArgs } from 'node:util';

/**
 * Shares, in [0, 1], of the awkward pages of each kind. Those marked *leaf* apply only to pages
 * without children, so that no subtree hangs from a page without links.
 */
export interface Shares {
  /** Leaf: answers 404. */
  readonly missing: number;
  /** Leaf: answers 410. */
  readonly gone: number;
  /** Leaf: always answers 500. A crawler that retries after minutes takes minutes for it. */
  readonly broken: number;
  /** Answers 503 with Retry-After to the first request, and the page to the next. */
  readonly flaky: number;
  /** Answers after `slowMs`. */
  readonly slow: number;
  /** Leaf: an image, which a crawler may or may not request. */
  readonly binary: number;
  /** Leaf: under /private/, which the robots.txt of most hosts disallows. */
  readonly private: number;
  /** Leaf with meta robots nofollow, or an inner page with a rel=nofollow link. */
  readonly nofollow: number;
  /** Pages with meta robots noindex, whose links still count. */
  readonly noindex: number;
  /** Linked through a redirect on the same host. */
  readonly redirect: number;
  /** Linked through a page with a meta refresh, or with a frame. */
  readonly refresh: number;
  /** Share of hosts that are linked through a redirect from another host. */
  readonly crossRedirect: number;
  /** Pages in another encoding than UTF-8. */
  readonly charset: number;
  /** Pages with a base href that their links are relative to. */
  readonly base: number;
  /** Share of hosts without a robots.txt (404: everything is allowed there). */
  readonly noRobots: number;
}

/**
 * Endless pages under /trap/, linked from the first page of each host: absent, disallowed by
 * robots.txt (linked only if there is one), or open to every crawler without limits.
 */
export type TrapMode = 'none' | 'disallowed' | 'open';

export interface WebOptions {
  readonly seed: number;
  readonly hosts: number;
  /** Mean number of pages per host. Single hosts have a tenth to three times as many. */
  readonly pages: number;
  /** Links to pages of the same host on a page of a dense web. */
  readonly linksPerPage: number;
  /** Links to pages of other hosts on a page of a dense web. */
  readonly crossLinks: number;
  /** Mean size of an HTML body, in bytes; its links may make it larger. */
  readonly bodyBytes: number;
  /** Each page has exactly one way in, so that a lost link visibly loses a subtree. */
  readonly sparse: boolean;
  /** Second byte of the loopback addresses: host i is 127.`net`.x.y. */
  readonly net: number;
  /** Port of every host. If it is 0, the server sets the real one. */
  readonly port: number;
  readonly slowMs: number;
  /** Retry-After of flaky pages, in seconds. */
  readonly retryAfterS: number;
  /** Minimum duration of an answer, so that two requests at once overlap in the log. */
  readonly answerMs: number;
  readonly trap: TrapMode;
  /** Whether all hosts use TLS, with HTTP/2 and HTTP/1.1 and one common certificate. */
  readonly tls: boolean;
  readonly shares: Shares;
}

/** The options that a caller gives: any part of the options and of the shares. */
export type PartialWebOptions = Partial<Omit<WebOptions, 'shares'>> & {
  readonly shares?: Partial<Shares>;
};

/** Hosts for one second byte: 256 third bytes with 254 last bytes each. */
export const hostsMax = 256 * 254;

const defaultShares: Shares = {
  missing: 0.04,
  gone: 0.02,
  broken: 0,
  flaky: 0.01,
  slow: 0.01,
  binary: 0.04,
  private: 0.05,
  nofollow: 0.04,
  noindex: 0.03,
  redirect: 0.05,
  refresh: 0.02,
  crossRedirect: 0.2,
  charset: 0.2,
  base: 0.1,
  noRobots: 0.2,
};

const defaults: Omit<WebOptions, 'shares'> = {
  seed: 1,
  hosts: 40,
  pages: 30,
  linksPerPage: 20,
  crossLinks: 4,
  bodyBytes: 8_000,
  sparse: false,
  net: 8,
  port: 8780,
  slowMs: 300,
  retryAfterS: 1,
  answerMs: 0,
  trap: 'none',
  tls: false,
};

/** The options with all defaults. Throws a RangeError if they are invalid. */
export function webOptions(given: PartialWebOptions = {}): WebOptions {
  const options = { ...defaults, ...given, shares: { ...defaultShares, ...given.shares } };
  atLeast('hosts', options.hosts, 1, hostsMax);
  atLeast('pages', options.pages, 1, 1_000_000);
  atLeast('net', options.net, 1, 255);
  atLeast('port', options.port, 0, 65_535);
  for (const key of ['linksPerPage', 'crossLinks', 'bodyBytes'] as const) {
    atLeast(key, options[key], 0, 10_000_000);
  }
  for (const [name, share] of Object.entries(options.shares)) {
    if (!(share >= 0 && share <= 1)) throw new RangeError(`share ${name}: 0 to 1, not ${share}`);
  }
  const { missing, gone, broken, flaky, slow, binary, private: closed, nofollow } = options.shares;
  const kinds = missing + gone + broken + flaky + slow + binary + closed + nofollow;
  if (kinds > 1) throw new RangeError(`the shares of the kinds of page add up to ${kinds} > 1`);
  return options;
}

function atLeast(name: string, value: number, min: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  throw new RangeError(`${name}: a whole number from ${min} to ${max}, not ${value}`);
}

export const usage = `node test/web/server.ts [--hosts ${defaults.hosts}] [--pages ${defaults.pages}] [--seed ${defaults.seed}] [--port ${defaults.port}]
  --hosts N, --pages N    number of hosts, mean number of pages of a host
  --seed N                another web of the same size
  --port N, --net N       port, and second byte of the addresses (${defaults.net}: 127.${defaults.net}.0.1 ...)
  --log FILE              logs each request as a line of JSON
  --links N, --cross-links N, --body-bytes N, --sparse
                          links of a page in its host and to others, bytes of a page; or one link to each page
  --answer-ms N, --slow-ms N
                          time until each answer, and until that of a slow page
  --share KIND=0.1        share of an awkward kind of page: ${Object.keys(defaultShares).slice(0, 8).join(', ')},
                          ${Object.keys(defaultShares).slice(8).join(', ')}
  --trap none|disallowed|open
                          endless pages
  --tls                   HTTPS
`;

/**
 * The options of a command line such as `--hosts 40 --sparse --share missing=0.1 --log web.jsonl`.
 * Throws on an unknown flag or a value that is not a number.
 */
export function optionsFromArguments(argv: readonly string[]): {
  web: PartialWebOptions;
  log: string | undefined;
  help: boolean;
} {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      ...{ seed: text, hosts: text, pages: text, net: text, port: text, log: text, trap: text },
      ...{ links: text, 'cross-links': text, 'body-bytes': text, 'slow-ms': text },
      ...{ 'answer-ms': text, sparse: { type: 'boolean' }, tls: { type: 'boolean' } },
      share: { type: 'string', multiple: true },
      help: { type: 'boolean' },
    },
  });
  const names = { links: 'linksPerPage', 'cross-links': 'crossLinks', 'body-bytes': 'bodyBytes' };
  const web: Record<string, unknown> = {
    sparse: values.sparse === true,
    tls: values.tls === true,
  };
  for (const [flag, value] of Object.entries(values)) {
    if (typeof value !== 'string' || flag === 'log') continue;
    const name = names[flag as keyof typeof names] ?? flag.replace('-ms', 'Ms');
    web[name] = flag === 'trap' ? trapMode(value) : numberOf(flag, value);
  }
  web.shares = Object.fromEntries(((values.share as string[] | undefined) ?? []).map(shareOf));
  const { log, help = false } = values as { log?: string; help?: boolean };
  return { web: web as PartialWebOptions, log, help };
}

function numberOf(flag: string, text: string): number {
  const value = Number(text);
  if (text === '' || Number.isNaN(value)) throw new RangeError(`--${flag}: not a number: ${text}`);
  return value;
}

function trapMode(text: string): TrapMode {
  if (text === 'none' || text === 'disallowed' || text === 'open') return text;
  throw new RangeError(`--trap: none, disallowed or open, not ${text}`);
}

function shareOf(text: string): [string, number] {
  const [name = '', value = ''] = text.split('=');
  if (!(name in defaultShares)) {
    throw new RangeError(`--share: one of ${Object.keys(defaultShares).join(', ')}, not ${name}`);
  }
  return [name, numberOf(`share ${name}`, value)];
}
