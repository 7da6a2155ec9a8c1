// Decides for each link, and again before each request, whether the URL may be requested: the
// operator may have narrowed the scope since the URL was found. There are two exceptions from the
// scope. The starting points of the config, and sitemaps, need not match `include`, which limits
// where the crawl goes from them. A robots.txt that the owner of another host needs is not a page.

import { formOf, type Identity, type SpelledUrl } from './crawl-url.ts';
import { Scope, type ScopeRules, type ScopeVerdict } from './scope.ts';

/** `sitemap`: a robots.txt, a sitemap index or the config names it as one. */
export interface ScopedUrl extends SpelledUrl {
  readonly sitemap?: boolean;
}

/** The part of the scope that visits use. */
export interface UrlScope {
  /** Whether any URL of the host may be requested. */
  covers(host: string): boolean;
  /** Checks both the identity and the form that is requested. */
  admits(host: string, url: ScopedUrl): boolean;
}

export class RequestScope implements UrlScope {
  readonly #scope: Scope;
  /** The scope without `include`; null: it has no `include`. */
  readonly #startScope: Scope | null;
  readonly #starts: ReadonlySet<Identity>;

  /** @param starts - seeds and sitemaps; called only if the scope has `include` */
  constructor(rules: ScopeRules, starts: () => Iterable<Identity>) {
    this.#scope = new Scope(rules);
    const isNarrow = rules.include.length > 0;
    this.#startScope = isNarrow ? new Scope({ ...rules, include: [] }) : null;
    this.#starts = new Set(isNarrow ? starts() : []);
  }

  covers(host: string): boolean {
    return this.#scope.covers(host);
  }

  admits(host: string, url: ScopedUrl): boolean {
    if (this.admitsLink(host, url)) return true;
    return isRobotsFile(formOf(url)) && this.#scope.covers(host);
  }

  /** Whether a page may lead to the URL. */
  admitsLink(host: string, url: ScopedUrl): boolean {
    if (this.#scope.admits(host, url)) return true;
    return this.#isStart(url) && this.#startScope?.admits(host, url) === true;
  }

  /** @returns also the rule that decided, for people */
  verdict(host: string, url: ScopedUrl): ScopeVerdict {
    const verdict = this.#scope.verdict(host, url);
    if (verdict.admitted || !this.admitsLink(host, url)) return verdict;
    return { admitted: true, rule: `a seed or sitemap; otherwise ${verdict.rule}` };
  }

  #isStart({ url, sitemap = false }: ScopedUrl): boolean {
    return sitemap || this.#starts.has(url);
  }
}

function isRobotsFile(form: string): boolean {
  return (
    form.indexOf('/', form.indexOf('//') + 2) === form.length - ROBOTS_PATH.length &&
    form.endsWith(ROBOTS_PATH)
  );
}

const ROBOTS_PATH = '/robots.txt';
