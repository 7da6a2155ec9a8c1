// Which URLs may be requested: asked before each request, since what is queued was found under the
// scope of that time, and the operator may have narrowed it since. It is the scope, with two
// exceptions: the starting points of the config need not match `include`, which says where to go
// from them, and a robots.txt that the owner of another host needs is no page.

import { formOf, type Identity, type SpelledUrl } from './crawl-url.ts';
import { Scope, type ScopeRules } from './scope.ts';

/** As the visits know it. */
export interface UrlScope {
  /** Whether any URL of the host may be requested. */
  covers(host: string): boolean;
  /** Judges the identity and the form that is requested. */
  admits(host: string, url: SpelledUrl): boolean;
}

export class RequestScope implements UrlScope {
  readonly #scope: Scope;
  /** The scope without `include`; null: it has none. */
  readonly #startScope: Scope | null;
  readonly #starts: ReadonlySet<Identity>;

  /** @param starts - seeds and sitemaps; read only where the scope has `include` */
  constructor(rules: ScopeRules, starts: () => Iterable<Identity>) {
    this.#scope = new Scope(rules);
    const isNarrow = rules.include.length > 0;
    this.#startScope = isNarrow ? new Scope({ ...rules, include: [] }) : null;
    this.#starts = new Set(isNarrow ? starts() : []);
  }

  covers(host: string): boolean {
    return this.#scope.covers(host);
  }

  admits(host: string, spelling: SpelledUrl): boolean {
    if (this.#scope.admits(host, spelling)) return true;
    const { url } = spelling;
    if (this.#starts.has(url) && this.#startScope?.admits(host, spelling)) return true;
    return isRobotsFile(formOf(spelling)) && this.#scope.covers(host);
  }
}

function isRobotsFile(form: string): boolean {
  return (
    form.indexOf('/', form.indexOf('//') + 2) === form.length - ROBOTS_PATH.length &&
    form.endsWith(ROBOTS_PATH)
  );
}

const ROBOTS_PATH = '/robots.txt';
