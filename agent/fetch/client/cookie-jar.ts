/**
 * Cookies (RFC 6265), kept in memory. A cookie is sent only to the host that set it: the `Domain`
 * attribute is ignored. Other hosts of the site may belong to another agent, and without `Domain`
 * no host can set cookies for another and no public suffix list is needed. The hosts, and the
 * cookies and bytes per host, are limited; the hosts requested least recently and the oldest cookies
 * are evicted first.
 */

export interface CookieClock {
  /** Monotonic milliseconds. Cookies expire by this clock. */
  readonly now: number;
  /** Unix milliseconds. `Expires` dates are compared with this clock. */
  readonly wallNow: number;
}

const LIMITS = {
  /** Hosts with cookies, 80 MB in total at most. An evicted host starts without cookies. */
  hostsMax: 10_000,
  /** Cookies of one host. */
  cookiesMax: 32,
  /** Names, values and paths of one host. Servers refuse longer headers. */
  bytesMax: 8 * 1024,
};

export type CookieJarOptions = Partial<typeof LIMITS>;

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  readonly secure: boolean;
  /** Monotonic milliseconds; Infinity: as long as the jar exists. */
  readonly until: number;
}

export class CookieJar {
  readonly #limits: typeof LIMITS;
  /** By host without port, in the order of the last request; within a host the oldest first. */
  readonly #hosts = new Map<string, Map<string, Cookie>>();

  constructor(options: CookieJarOptions = {}) {
    this.#limits = { ...LIMITS, ...options };
  }

  /** @returns the Cookie header for a request, or null if no cookie applies. */
  headerFor(url: URL, now: number): string | null {
    const kept = this.#hosts.get(url.hostname);
    if (kept === undefined) return null;
    this.#hosts.delete(url.hostname);
    this.#hosts.set(url.hostname, kept);
    const sent = [...kept.values()]
      .filter(({ until, secure }) => until > now && (!secure || url.protocol === 'https:'))
      .filter(({ path }) => pathMatches(url.pathname, path))
      .sort((a, b) => b.path.length - a.path.length);
    return sent.length === 0 ? null : sent.map(({ name, value }) => `${name}=${value}`).join('; ');
  }

  /** Stores the Set-Cookie headers of a response to `url`. Malformed ones are ignored. */
  take(url: URL, headers: readonly string[], clock: CookieClock): void {
    if (headers.length === 0) return;
    const kept = this.#hosts.get(url.hostname) ?? new Map<string, Cookie>();
    this.#hosts.delete(url.hostname);
    for (const header of headers) {
      const cookie = parseSetCookie(header, url, clock);
      if (cookie === null) continue;
      const key = `${cookie.name};${cookie.path}`;
      kept.delete(key);
      if (cookie.until > clock.now) kept.set(key, cookie);
      this.#bound(kept);
    }
    if (kept.size > 0) this.#hosts.set(url.hostname, kept);
    if (this.#hosts.size > this.#limits.hostsMax) {
      const [oldest] = this.#hosts.keys();
      this.#hosts.delete(oldest!);
    }
  }

  #bound(cookies: Map<string, Cookie>): void {
    const { cookiesMax, bytesMax } = this.#limits;
    let bytes = 0;
    for (const cookie of cookies.values()) bytes += bytesOf(cookie);
    for (const [key, cookie] of cookies) {
      if (cookies.size <= cookiesMax && bytes <= bytesMax) return;
      bytes -= bytesOf(cookie);
      cookies.delete(key);
    }
  }
}

function bytesOf({ name, value, path }: Cookie): number {
  return name.length + value.length + path.length;
}

function parseSetCookie(header: string, url: URL, clock: CookieClock): Cookie | null {
  const [pair = '', ...attributes] = header.split(';');
  const equals = pair.indexOf('=');
  const name = pair.slice(0, equals).trim();
  const value = pair.slice(equals + 1).trim();
  // A Cookie header cannot carry other characters.
  if (equals < 1 || name === '' || /[^\x20-\x7e]/.test(name + value)) return null;
  const given = new Map<string, string>();
  for (const attribute of attributes) {
    const [key = '', ...rest] = attribute.split('=');
    given.set(key.trim().toLowerCase(), rest.join('=').trim());
  }
  const secure = given.has('secure');
  if (secure && url.protocol !== 'https:') return null;
  const path = given.get('path') ?? '';
  return {
    name,
    value,
    path: path.startsWith('/') ? path : defaultPath(url.pathname),
    secure,
    until: expiry(given, clock),
  };
}

/** Max-Age takes precedence over Expires. An unreadable attribute counts as absent. */
function expiry(given: ReadonlyMap<string, string>, { now, wallNow }: CookieClock): number {
  const maxAge = given.get('max-age') ?? '';
  if (/^-?\d+$/.test(maxAge)) return now + Number(maxAge) * 1000;
  const expires = Date.parse((given.get('expires') ?? '').replaceAll('-', ' '));
  return Number.isNaN(expires) ? Infinity : now + (expires - wallNow);
}

/** RFC 6265, section 5.1.4: the directory of the page. */
function defaultPath(pathname: string): string {
  return pathname.slice(0, Math.max(1, pathname.lastIndexOf('/')));
}

function pathMatches(pathname: string, path: string): boolean {
  if (!pathname.startsWith(path)) return false;
  return pathname.length === path.length || path.endsWith('/') || pathname[path.length] === '/';
}
