// Which URLs belong to the crawl. Built once from the config's `scope`; asked for every link that
// is found here or sent by a peer, so the look-up costs one set probe per label of the host however
// many patterns there are.

import { parseCrawlUrl } from './crawl-url.ts';

/** The config's `scope`, compiled. */
export interface ScopeRules {
  /** `*` (everything), `*.h` (subdomains of h, not h), or a host. */
  readonly hosts: readonly string[];
  /** Tested on the identity; none at all means every URL. */
  readonly include: readonly RegExp[];
  /** Tested on the identity; wins over `include`. */
  readonly exclude: readonly RegExp[];
}

/** The set of URLs that the crawl may visit. */
export class Scope {
  readonly #hosts = new Set<string>();
  readonly #parents = new Set<string>();
  readonly #everyHost: boolean;
  readonly #include: readonly RegExp[];
  readonly #exclude: readonly RegExp[];

  /** @throws RangeError naming the host pattern that is none; the config is checked before. */
  constructor(rules: ScopeRules) {
    this.#everyHost = rules.hosts.includes('*');
    for (const pattern of rules.hosts) {
      if (pattern === '*') continue;
      if (pattern.startsWith('*.')) this.#parents.add(hostOf(pattern.slice(2), pattern));
      else this.#hosts.add(hostOf(pattern, pattern));
    }
    this.#include = rules.include.map(stateless);
    this.#exclude = rules.exclude.map(stateless);
  }

  /** Whether the host is part of the crawl, whichever of its URLs are: its rules count. */
  covers(host: string): boolean {
    return this.#everyHost || this.#hosts.has(host) || this.#hasParent(host);
  }

  /**
   * @param host - as `CrawlUrl.host`
   * @param identity - canonical form of a URL of that host
   */
  admits(host: string, identity: string): boolean {
    if (!this.covers(host)) return false;
    if (this.#exclude.some((pattern) => pattern.test(identity))) return false;
    return this.#include.length === 0 || this.#include.some((pattern) => pattern.test(identity));
  }

  /** The same with the rule that decided, as a person finds it in the config. */
  verdict(host: string, identity: string): { admitted: boolean; rule: string } {
    if (!this.covers(host)) {
      return { admitted: false, rule: `no entry of scope.hosts covers ${host}` };
    }
    const excluded = this.#exclude.find((pattern) => pattern.test(identity));
    if (excluded) return { admitted: false, rule: `scope.exclude: ${excluded.source}` };
    const included = this.#include.find((pattern) => pattern.test(identity));
    if (included) return { admitted: true, rule: `scope.include: ${included.source}` };
    if (this.#include.length > 0) return { admitted: false, rule: 'no entry of scope.include' };
    return { admitted: true, rule: `scope.hosts: ${this.#hostRule(host)}` };
  }

  #hostRule(host: string): string {
    if (this.#hosts.has(host)) return host;
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      const parent = host.slice(dot + 1);
      if (this.#parents.has(parent)) return `*.${parent}`;
    }
    return '*';
  }

  #hasParent(host: string): boolean {
    if (this.#parents.size === 0) return false;
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      if (this.#parents.has(host.slice(dot + 1))) return true;
    }
    return false;
  }
}

/** Patterns are written by people: `Bücher.example.` must match what `URL.hostname` says. */
function hostOf(text: string, pattern: string): string {
  // Whatever ends an authority's host would let `host/path`, `user@host` and `host:80` pass as one.
  const parsed = /[\s/?#@\\*]|:\d*$/.test(text) ? null : parseCrawlUrl(`http://${text}/`);
  if (parsed === null || 'refused' in parsed) {
    throw new RangeError(`scope: ${JSON.stringify(pattern)} is not a host, *.host or *`);
  }
  return parsed.host;
}

/** With the flags g or y, `test` would remember where it stopped and refuse every other URL. */
function stateless(pattern: RegExp): RegExp {
  return new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''));
}
