// Removes URL parameters from the identity: names from the config, parameters that track clicks,
// and parameters with a session. The requested form stays as found, so a site never gets a URL that
// it did not write. Off by default, because a parameter that is noise on one site can name the page
// on another. The rules of all agents of a cluster must agree.

import { type CrawlUrl, parseCrawlUrl } from './crawl-url.ts';

/** The config's `urls`. */
export interface IdentityRulesConfig {
  /** Names in any case; a name that ends in `*` is a prefix. */
  readonly dropParameters: readonly string[];
  readonly dropTracking: boolean;
  readonly dropSessions: boolean;
}

/**
 * Parameters of advertising and mail systems. Scripts read them; no server selects a page by them.
 */
const TRACKING = (
  'utm_* fbclid gclid gclsrc dclid gbraid wbraid msclkid yclid ysclid twclid ttclid li_fat_id ' +
  'igshid igsh mc_cid mc_eid mkt_tok _ga _gl _hsenc _hsmi __hssc __hstc __hsfp oly_anon_id ' +
  'oly_enc_id vero_id wickedid rb_clickid s_kwcid'
).split(' ');

/** Session parameters, in the query or as `;name=value` in the path. */
const SESSION = (
  'jsessionid phpsessid phpsessionid sessionid session_id sessid aspsessionid* cfid cftoken ' +
  'zenid oscsid osessionid'
).split(' ');

/** `s` and `sid` can also name a story or a shop, so only a long value marks a session. */
const SHORT_SESSION = /^s(?:id)?=[0-9a-z]{16,}$/i;

/** ASP.NET puts a session into the path: `/(S(lit3py55t21z5v55vlm25s55))/page.aspx`. */
const PATH_SESSION = /\/\((?:(?:[a-z]\([0-9a-z]{24}\))+|[0-9a-z]{24})\)(?=\/)/gi;

/** The compiled rules of one config. */
export class IdentityRules {
  readonly #names = new Set<string>();
  readonly #prefixes: readonly string[];
  readonly #sessions: boolean;
  readonly #active: boolean;

  constructor(config: IdentityRulesConfig) {
    const { dropParameters, dropTracking, dropSessions } = config;
    const names = [
      ...dropParameters,
      ...(dropTracking ? TRACKING : []),
      ...(dropSessions ? SESSION : []),
    ].map((name) => name.toLowerCase());
    this.#prefixes = names.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
    for (const name of names) if (!name.endsWith('*')) this.#names.add(name);
    this.#sessions = dropSessions;
    this.#active = names.length > 0;
  }

  /**
   * @returns the URL with the identity that these rules give; a second application changes nothing
   */
  apply(url: CrawlUrl): CrawlUrl {
    if (!this.#active) return url;
    const dropped = this.#drop(url.identity);
    if (dropped === url.identity) return url;
    // Removal can leave a dot segment in the path.
    const again = parseCrawlUrl(dropped);
    return { ...url, identity: 'refused' in again ? url.identity : again.identity };
  }

  #drop(identity: string): string {
    const question = identity.indexOf('?');
    const start = identity.indexOf('/', identity.indexOf('//') + 2);
    const path = this.#path(identity.slice(start, question < 0 ? undefined : question));
    const query = question < 0 ? null : this.#query(identity.slice(question + 1));
    return `${identity.slice(0, start)}${path}${query === null ? '' : `?${query}`}`;
  }

  #path(path: string): string {
    const plain = path.includes(';')
      ? path.replace(/;([^/;]*)/g, (whole, text: string) => (this.#drops(text) ? '' : whole))
      : path;
    return this.#sessions ? plain.replace(PATH_SESSION, '') : plain;
  }

  /** @returns null if no parameter is left */
  #query(query: string): string | null {
    const parameters = query.split('&');
    const kept = parameters.filter((text) => !this.#drops(text));
    if (kept.length === parameters.length) return query;
    return kept.length === 0 ? null : kept.join('&');
  }

  #drops(parameter: string): boolean {
    const equals = parameter.indexOf('=');
    const name = (equals < 0 ? parameter : parameter.slice(0, equals)).toLowerCase();
    if (name === '') return false;
    if (this.#names.has(name)) return true;
    if (this.#prefixes.some((prefix) => name.startsWith(prefix))) return true;
    return this.#sessions && SHORT_SESSION.test(parameter);
  }
}
