// Unusual web servers as named behaviours that any test may combine: the answers of one host, and
// the pages that its crawl must record. A behaviour holds the state of one crawl, so each web
// creates its own. All of them are finite. See behaviour-web.ts for the servers.

import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { framings, rawAnswer } from './framings.ts';

/** A request to a host, with the facts needed to answer it. */
export interface Asked {
  /** Includes the query. */
  readonly path: string;
  /** `http://ADDRESS:PORT` of the host. */
  readonly origin: string;
  /** Number of requests for the path so far, this one included. */
  readonly times: number;
  /** Number of requests to the host before this one. */
  readonly earlier: number;
  readonly cookie: string;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Milliseconds before the first byte. */
  readonly afterMs?: number;
  /** Milliseconds between two parts of the body. */
  readonly dripMs?: number;
  /** Number of bytes of the body after which the connection is closed. */
  readonly cutAfterBytes?: number;
  /** The raw bytes of the response, headers included. The status is only what they state. */
  readonly raw?: Buffer;
  /** Time after the answer during which no request may reach the host. */
  readonly waitMs?: number;
}

/** The part of the crawl's config that decides which pages are expected. */
export interface CrawlOptions {
  readonly dropTracking: boolean;
}

export interface Behaviour {
  answer(asked: Asked): Answer;
  /** Path and final status of each page that must be recorded. */
  expected(options: CrawlOptions): Readonly<Record<string, number>>;
  /** The server writes raw bytes, and closes each connection this long after an answer. */
  readonly closesAfterMs?: number;
}

/** A sitemap that every host has and no page links to. A config may name it. It lists `/mapped`. */
export const sitemapPath = '/sitemap.xml';
export const mappedPath = '/mapped';

const pageCount = 5;
const paths = Array.from({ length: pageCount }, (_, n) => `/${n + 1}`);
export const namedPerPage = 1000;
const copyCount = 70;
const slowedFrom = 60;
/** Twice the delay of the crawls that use these hosts. */
const slowedMs = 40;
const largeBytes = 2 * 1024 * 1024;

const links = (targets: readonly string[]) =>
  targets.map((target) => `<a href="${target}">x</a>`).join('\n');
const html = (body: string): Answer => ({
  status: 200,
  headers: { 'content-type': 'text/html' },
  body,
});
const all = (targets: readonly string[], status = 200) =>
  Object.fromEntries(targets.map((target) => [target, status]));
const redirect = (location: string, more: Readonly<Record<string, string>> = {}): Answer => ({
  status: 302,
  headers: { location, ...more },
});

/** A site whose front page links to the targets. It has no robots.txt. */
function site({ path, origin }: Asked, targets: readonly string[] = paths): Answer {
  if (path === '/robots.txt') return { status: 404 };
  if (path === sitemapPath) {
    const body = `<urlset><url><loc>${origin}${mappedPath}</loc></url></urlset>`;
    return { status: 200, headers: { 'content-type': 'application/xml' }, body };
  }
  return html(path === '/' ? links(targets) : `the page ${path} of ${origin}`);
}

const isPage = ({ path }: Asked) => path !== '/robots.txt' && path !== sitemapPath;
const sitePages = all(['/', ...paths]);

/** A plain site, except for the answers of `odd`. */
function oddSite(odd: (asked: Asked) => Answer | null, more: Partial<Behaviour> = {}): Behaviour {
  return {
    answer: (asked) => odd(asked) ?? site(asked),
    expected: () => sitePages,
    ...more,
  };
}

/** Answers its first requests, robots.txt included, with 503. `waitMs` is the required wait. */
function restarting(retryAfter: string, waitMs: number): Behaviour {
  return oddSite(({ earlier }) =>
    earlier < 2 ? { status: 503, headers: { 'retry-after': retryAfter }, waitMs } : null,
  );
}

const makers = {
  plain: () => oddSite(() => null),

  /** robots.txt is found after two redirects within the host. It forbids one page. */
  robotsRedirect: () => {
    const { '/2': _, ...expected } = sitePages;
    const odd = ({ path }: Asked): Answer | null => {
      if (path === '/robots.txt') return redirect('/rules');
      if (path === '/rules') return redirect('/rules.txt');
      if (path !== '/rules.txt') return null;
      const headers = { 'content-type': 'text/plain' };
      return { status: 200, headers, body: 'User-agent: *\nDisallow: /2' };
    };
    return oddSite(odd, { expected: () => expected });
  },

  /** One page redirects to another by two redirects. Each is recorded as a page. */
  pageRedirects: () => {
    const odd = ({ path }: Asked): Answer | null => {
      if (path === '/1') return redirect('/hop');
      return path === '/hop' ? redirect('/end') : null;
    };
    const expected = { ...sitePages, '/1': 302, '/hop': 302, '/end': 200 };
    return oddSite(odd, { expected: () => expected });
  },

  /** Redirects from one spelling of a URL to another spelling of the same page. */
  selfRedirect: () => ({
    answer: (asked) => {
      if (asked.path === '/%7Eu/') return redirect('/~u/');
      return site(asked, ['/%7Eu/', ...paths]);
    },
    expected: () => ({ ...sitePages, '/~u/': 200 }),
  }),

  /** Redirects to the same URL without its tracking parameter. */
  trackingRedirect: () => ({
    answer: (asked) => {
      if (asked.path === '/t?utm_source=x&a=1') return redirect('/t?a=1');
      return site(asked, ['/t?utm_source=x&amp;a=1', ...paths]);
    },
    expected: ({ dropTracking }) => ({
      ...sitePages,
      '/t?a=1': 200,
      ...(dropTracking ? {} : { '/t?utm_source=x&a=1': 302 }),
    }),
  }),

  /** Redirects each page to itself until the client sends the cookie that it sets. */
  cookieWall: () =>
    oddSite((asked) => {
      if (!isPage(asked) || asked.cookie.includes('seen=1')) return null;
      return redirect(asked.path, { 'set-cookie': 'seen=1; Path=/' });
    }),

  /** Like `cookieWall`, but another URL sets the cookie and redirects back. */
  cookieWallAway: () => {
    const odd = (asked: Asked): Answer | null => {
      const [path, to] = asked.path.split('?to=');
      if (path === '/wall') return redirect(to ?? '/', { 'set-cookie': 'seen=1; Path=/' });
      if (!isPage(asked) || asked.cookie.includes('seen=1')) return null;
      return redirect(`/wall?to=${asked.path}`);
    };
    return oddSite(odd, { expected: () => ({ ...sitePages, '/wall?to=/': 302 }) });
  },

  slow: () => ({
    answer: (asked) => ({ ...site(asked), ...(isPage(asked) ? { afterMs: 250 } : {}) }),
    expected: () => sitePages,
  }),

  /** Sends the bodies of two pages in five parts over half a second. */
  dripping: () => ({
    answer: (asked) => {
      const drips = asked.path === '/1' || asked.path === '/2';
      return { ...site(asked), ...(drips ? { dripMs: 100 } : {}) };
    },
    expected: () => sitePages,
  }),

  /** Closes each connection about when the next request is due, without notice. */
  closesIdle: () => oddSite(() => null, { closesAfterMs: 20 }),

  /** Responses with framing that violates HTTP. */
  oddFraming: () => ({
    answer: (asked) => {
      const raw = framings[asked.path];
      return raw ? { status: 200, raw } : site(asked, Object.keys(framings));
    },
    expected: () => all(['/', ...Object.keys(framings)]),
    // A body without a usable length lasts until then.
    closesAfterMs: 1000,
  }),

  /** Closes the connection in the middle of two pages, at the first request for each. */
  deadInTheMiddle: () =>
    oddSite(({ path, times }) => {
      if (times > 1 || (path !== '/1' && path !== '/2')) return null;
      return { ...html('the first half, and no second'), cutAfterBytes: 14 };
    }),

  stackedCodings: () => ({
    answer: (asked) => {
      const plain = site(asked);
      if (!isPage(asked)) return plain;
      const headers = { ...plain.headers, 'content-encoding': 'gzip, gzip' };
      return { ...plain, headers, body: gzipSync(gzipSync(plain.body ?? '')) };
    },
    expected: () => sitePages,
  }),

  large: () =>
    oddSite(({ path }) => {
      if (path !== '/1' && path !== '/2') return null;
      return html(`<p>${path}</p>${'a large page '.repeat(largeBytes / 13)}`);
    }),

  restartingZero: () => restarting('0', 0),
  restartingOne: () => restarting('1', 1000),
  restartingPast: () => restarting('Mon, 01 Jan 2024 00:00:00 GMT', 0),

  /** Answers the first request for each of two pages with 429. */
  limitedOnce: () =>
    oddSite(({ path, times }) => {
      if (times > 1 || (path !== '/1' && path !== '/3')) return null;
      return { status: 429, headers: { 'retry-after': '1' }, waitMs: 1000 };
    }),

  timedOutOnce: () =>
    oddSite(({ path, times }) => {
      const status = { '/1': 408, '/2': 425 }[path];
      return times === 1 && status !== undefined ? { status, body: 'not now' } : null;
    }),

  /**
   * Copies of one page under many names. From the 50th on the crawler doubles its delay. A few
   * copies do not count: the first after a hand-off and before a new page.
   */
  copies: () => {
    const names = Array.from({ length: copyCount }, (_, n) => `/copy/${n + 1}`);
    let copies = 0;
    return {
      answer: (asked) => {
        if (!names.includes(asked.path)) return site(asked, names);
        if (asked.times === 1) copies++;
        const isSlowed = asked.times === 1 && copies >= slowedFrom;
        return { ...html('the same text'), ...(isSlowed ? { waitMs: slowedMs } : {}) };
      },
      expected: () => all(['/', ...names]),
    };
  },

  /** An endless calendar of one page. Only a limit ends its crawl. */
  trap: () => ({
    answer: (asked) => {
      const day = Number(/^\/day\/(\d+)$/.exec(asked.path)?.[1] ?? 0);
      return isPage(asked) ? html(links([`/day/${day + 1}`, `/day/${day + 2}`])) : site(asked);
    },
    expected: () => all(['/', '/day/1', '/day/2']),
  }),

  /** Each page links to a thousand new hosts, addresses without a server, and to two more pages. */
  endlessHosts: () => {
    let named = 0;
    const fresh = () => {
      named++;
      return `http://127.${100 + (named >> 16)}.${(named >> 8) & 255}.${named & 255}:2/`;
    };
    return {
      answer: (asked) => {
        if (!isPage(asked)) return site(asked);
        const more = [`${asked.path}a`, `${asked.path}b`];
        return html(links([...Array.from({ length: namedPerPage }, fresh), ...more]));
      },
      expected: () => all(['/', '/a', '/b']),
    };
  },
} satisfies Record<string, () => Behaviour>;

export type BehaviourName = keyof typeof makers;

export function isBehaviour(name: string): name is BehaviourName {
  return Object.hasOwn(makers, name);
}

/** @returns the behaviour, with its own state */
export function behaviour(name: BehaviourName): Behaviour {
  return makers[name]();
}

/** The bytes of an answer, for servers that write raw bytes. */
export function bytesOf(answer: Answer): Buffer {
  return answer.raw ?? rawAnswer(answer.status, answer.headers ?? {}, answer.body ?? '');
}

/** Calls `send` with each part of the body at its time, and with the last part at the end. */
export async function drip(answer: Answer, send: (part: Buffer) => void): Promise<void> {
  const body = Buffer.from(answer.body ?? '');
  if (answer.afterMs !== undefined) await pause(answer.afterMs);
  if (answer.dripMs === undefined) return send(body);
  const partBytes = Math.ceil(body.length / 5);
  for (let k = 0; k < 5; k++) {
    if (k > 0) await pause(answer.dripMs);
    send(body.subarray(k * partBytes, (k + 1) * partBytes));
  }
}
