// Which URLs belong to the crawl. Built once from the config's `scope`; asked for every link that
// is found and before every request. Patterns are written for canonical URLs, and a request may
// carry another form. So both are judged: the identity, and what is requested in canonical spelling
// (they differ where the config drops parameters). `exclude` is also tried on the form as it is
// written.

import {
  asForm,
  type Identity,
  parseCrawlUrl,
  type RequestForm,
  type SpelledUrl,
} from './crawl-url.ts';
import { HostPatterns } from './host-patterns.ts';

/** An expression that is matched in time linear in the text (config/values/linear-pattern.ts). */
export interface ScopePattern {
  readonly source: string;
  test(text: string): boolean;
}

/** The config's `scope`, compiled. */
export interface ScopeRules {
  /** `*` (everything), `*.h` (subdomains of h, not h), or a host. */
  readonly hosts: readonly string[];
  /** A URL must match one in its identity and in what is requested; none: every URL passes. */
  readonly include: readonly ScopePattern[];
  /** A URL that matches one in any spelling is left out; wins over `include`. */
  readonly exclude: readonly ScopePattern[];
}

/** The set of URLs that the crawl may visit. */
export class Scope {
  /** Each pattern by itself, so that the one that matches can be named. */
  readonly #hosts: HostPatterns<string>;
  readonly #include: readonly ScopePattern[];
  readonly #exclude: readonly ScopePattern[];

  /** @throws RangeError naming the host pattern that is none; the config is checked before. */
  constructor(rules: ScopeRules) {
    const patterns = rules.hosts.map(serialised);
    this.#hosts = new HostPatterns(patterns.map((pattern) => [pattern, pattern]));
    this.#include = rules.include;
    this.#exclude = rules.exclude;
  }

  /** Whether the host is part of the crawl, whichever of its URLs are: its rules count. */
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

  /** The same with the rule that decided, as a person finds it in the config. */
  verdict(host: string, { url, fetchUrl }: SpelledUrl): { admitted: boolean; rule: string } {
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
    if (!this.#admitsSpelling(url)) return { admitted: false, rule: 'no entry of scope.include' };
    const included = this.#include.find((pattern) => pattern.test(canonical));
    if (included) return { admitted: true, rule: `scope.include: ${included.source}` };
    return {
      admitted: false,
      rule: `no entry of scope.include for what is requested, ${fetchUrl}`,
    };
  }
}

/** Of a form; the identity may lack parameters that the form has. */
function canonicalSpelling(form: RequestForm): string {
  const parsed = parseCrawlUrl(form);
  return 'refused' in parsed ? form : parsed.identity;
}

function serialised(pattern: string): string {
  if (pattern === '*') return pattern;
  const parent = pattern.startsWith('*.') ? pattern.slice(2) : null;
  return parent === null ? hostOf(pattern, pattern) : `*.${hostOf(parent, pattern)}`;
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
