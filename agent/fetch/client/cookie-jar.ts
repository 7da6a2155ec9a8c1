/**
 * Cookies (RFC 6265), each kept for the very host that set it: `Domain` is not widened, since the
 * other hosts of a site may be another agent's, and without it no list of public suffixes is
 * needed and no host can speak for another. In memory, bounded by hosts, and by number and bytes
 * a host; what comes beyond pushes out what came first. `got-fetcher.ts` makes one where the
 * config asks for cookies.
 */

export interface CookieClock {
  /** Monotonic milliseconds, by which cookies expire. */
  readonly now: number;
  /** Unix milliseconds, against which `Expires` is measured. */
  readonly wallNow: number;
}

export interface CookieJarOptions {
  readonly hostsMax?: number;
  readonly cookiesMax?: number;
  readonly bytesMax?: number;
}

/** With {@link BYTES_MAX} at most 80 MB; a host pushed out starts over with its cookies. */
const HOSTS_MAX = 10_000;
const COOKIES_MAX = 32;
/** Of names and values of one host: servers refuse longer headers. */
const BYTES_MAX = 8 * 1024;

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  readonly secure: boolean;
  /** Monotonic; Infinity: as long as the jar. */
  readonly until: number;
}

export class CookieJar {
  readonly #hostsMax: number;
  readonly #cookiesMax: number;
  readonly #bytesMax: number;
  /** By host without port, the one longest unused first; within a host, the oldest first. */
  readonly #hosts = new Map<string, Map<string, Cookie>>();

  constructor(options: CookieJarOptions = {}) {
    this.#hostsMax = options.hostsMax ?? HOSTS_MAX;
    this.#cookiesMax = options.cookiesMax ?? COOKIES_MAX;
    this.#bytesMax = options.bytesMax ?? BYTES_MAX;
  }

  /** @returns the Cookie header for a request, or null where there is nothing to say. */
  headerFor(url: URL, now: number): string | null {
    const cookies = [...(this.#hosts.get(url.hostname)?.values() ?? [])];
    const sent = cookies
      .filter(({ until, secure }) => until > now && (!secure || url.protocol === 'https:'))
      .filter(({ path }) => pathMatches(url.pathname, path))
      .sort((a, b) => b.path.length - a.path.length);
    return sent.length === 0 ? null : sent.map(({ name, value }) => `${name}=${value}`).join('; ');
  }

  /** Takes in the Set-Cookie headers of a response to `url`; what is malformed is left out. */
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
    if (this.#hosts.size > this.#hostsMax) {
      const [longestUnused] = this.#hosts.keys();
      this.#hosts.delete(longestUnused!);
    }
  }

  #bound(cookies: Map<string, Cookie>): void {
    let bytes = 0;
    for (const { name, value, path } of cookies.values()) {
      bytes += name.length + value.length + path.length;
    }
    for (const [key, { name, value, path }] of cookies) {
      if (cookies.size <= this.#cookiesMax && bytes <= this.#bytesMax) return;
      bytes -= name.length + value.length + path.length;
      cookies.delete(key);
    }
  }
}

function parseSetCookie(header: string, url: URL, clock: CookieClock): Cookie | null {
  const [pair = '', ...attributes] = header.split(';');
  const equals = pair.indexOf('=');
  const name = pair.slice(0, equals).trim();
  const value = pair.slice(equals + 1).trim();
  // What a header of ours could not carry is left out, too.
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

/** Max-Age wins over Expires; one that cannot be read counts as absent. */
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
