// Decides which URLs belong to the crawl, by the config's `scope`. It is checked for every link
// found and before every request. Patterns are written for canonical URLs, but a request may use
// another form. So both the identity and the canonical spelling of the requested form are checked;
// they differ if the config drops parameters. `exclude` is also applied to the requested form as
// written.

import {
  asForm,
  type Identity,
  parseCrawlUrl,
  type RequestForm,
  type SpelledUrl,
} from './crawl-url.ts';
import { HostPatterns } from './host-patterns.ts';

/** A regular expression that takes linear time (config/values/linear-pattern.ts). */
export interface ScopePattern {
  readonly source: string;
  test(text: string): boolean;
}

/** The config's `scope`, compiled. */
export interface ScopeRules {
  /** `*` (every host), `*.h` (subdomains of h, not h itself), or a host. */
  readonly hosts: readonly string[];
  /** The identity and the canonical spelling of the form must each match one. Empty: all pass. */
  readonly include: readonly ScopePattern[];
  /** A URL is left out if any of its spellings matches. Takes precedence over `include`. */
  readonly exclude: readonly ScopePattern[];
}

/** `rule`: the rule of the config that decided, for people. */
export interface ScopeVerdict {
  readonly admitted: boolean;
  readonly rule: string;
}

/** The set of URLs that the crawl may visit. */
export class Scope {
  /** By pattern, with the pattern itself as value, so that the matching one can be named. */
  readonly #hosts: HostPatterns<string>;
  readonly #include: readonly ScopePattern[];
  readonly #exclude: readonly ScopePattern[];

  /** @throws RangeError with the pattern if it is invalid; the config has been validated before. */
  constructor(rules: ScopeRules) {
    const patterns = rules.hosts.map(serialised);
    this.#hosts = new HostPatterns(patterns.map((pattern) => [pattern, pattern]));
    this.#include = rules.include;
    this.#exclude = rules.exclude;
  }

  /** Whether the host is part of the crawl. Single URLs of it may still be excluded. */
  covers(host: string): boolean {
    return this.#hosts.get(host) !== undefined;
  }

  /**
   * @param host - as `CrawlUrl.host`
   * @param url - of that host
   */
  admits(host: string, { url, fetchUrl }: SpelledUrl): boolean {
    if (!this.covers(host) || !this.#admitsSpelling(url)) return false;
    return fetchUrl === undefined || fetchUrl === asForm(url) || this.#admitsForm(url, fetchUrl);
  }

  #admitsSpelling(canonical: string): boolean {
    if (this.#exclude.some((pattern) => pattern.test(canonical))) return false;
    return this.#include.length === 0 || this.#include.some((pattern) => pattern.test(canonical));
  }

  #admitsForm(identity: Identity, form: RequestForm): boolean {
    if (this.#exclude.length === 0 && this.#include.length === 0) return true;
    if (this.#exclude.some((pattern) => pattern.test(form))) return false;
    const canonical = canonicalSpelling(form);
    return canonical === identity || this.#admitsSpelling(canonical);
  }

  /** As {@link admits}, with the config rule that decided. */
  verdict(host: string, { url, fetchUrl }: SpelledUrl): ScopeVerdict {
    if (!this.covers(host)) {
      return { admitted: false, rule: `no entry of scope.hosts covers ${host}` };
    }
    const canonical = fetchUrl === undefined ? url : canonicalSpelling(fetchUrl);
    const spellings = [url, canonical, fetchUrl ?? url];
    const excluded = this.#exclude.find((pattern) => spellings.some((text) => pattern.test(text)));
    if (excluded) return { admitted: false, rule: `scope.exclude: ${excluded.source}` };
    if (this.#include.length === 0) {
      return { admitted: true, rule: `scope.hosts: ${this.#hosts.get(host)}` };
    }
    if (!this.#admitsSpelling(url))
      return { admitted: false, rule: 'no entry of scope.include matches' };
    const included = this.#include.find((pattern) => pattern.test(canonical));
    if (included) return { admitted: true, rule: `scope.include: ${included.source}` };
    return {
      admitted: false,
      rule: `no entry of scope.include matches the requested form, ${canonical}`,
    };
  }
}

/** @returns the canonical spelling of a form; the identity may have fewer parameters */
function canonicalSpelling(form: RequestForm): string {
  const parsed = parseCrawlUrl(form);
  return 'refused' in parsed ? form : parsed.identity;
}

function serialised(pattern: string): string {
  if (pattern === '*') return pattern;
  const parent = pattern.startsWith('*.') ? pattern.slice(2) : null;
  return parent === null ? hostOf(pattern, pattern) : `*.${hostOf(parent, pattern)}`;
}

/** People write the patterns: `Bücher.example.` must match its `URL.hostname`. */
function hostOf(text: string, pattern: string): string {
  // Characters that end the host would let `host/path`, `user@host` and `host:80` pass as hosts.
  const parsed = /[\s/?#@\\*]|:\d*$/.test(text) ? null : parseCrawlUrl(`http://${text}/`);
  if (parsed === null || 'refused' in parsed) {
    throw new RangeError(`scope: ${JSON.stringify(pattern)} is not a host, *.host or *`);
  }
  return parsed.host;
}
