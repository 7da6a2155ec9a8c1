// Which parameters of a URL do not count for its identity: names from the config, those that mark
// where a click came from, and those that carry a session. Only the identity loses them; what is
// requested stays as found, so a site never gets a URL that it did not write. Off by default: the
// same parameter may be noise on one site and the page's number on the next. The page pipeline and
// the seeds pass every URL through here; agents compare the rules when they meet.

import { type CrawlUrl, parseCrawlUrl } from './crawl-url.ts';

/** The config's `urls`. */
export interface IdentityRulesConfig {
  /** Names in any case; one that ends in `*` is a prefix. */
  readonly dropParameters: readonly string[];
  readonly dropTracking: boolean;
  readonly dropSessions: boolean;
}

/** Set by advertising and mail systems, read by scripts; no server chooses a page by them. */
const TRACKING = (
  'utm_* fbclid gclid gclsrc dclid gbraid wbraid msclkid yclid ysclid twclid ttclid li_fat_id ' +
  'igshid igsh mc_cid mc_eid mkt_tok _ga _gl _hsenc _hsmi __hssc __hstc __hsfp oly_anon_id ' +
  'oly_enc_id vero_id wickedid rb_clickid s_kwcid'
).split(' ');

/** What servers call their sessions, in the query or as `;name=value` in the path. */
const SESSION = (
  'jsessionid phpsessid phpsessionid sessionid session_id sessid aspsessionid* cfid cftoken ' +
  'zenid oscsid osessionid'
).split(' ');

/** Also the number of a story or a shop: it counts as a session only where its value looks so. */
const SHORT_SESSION = /^s(?:id)?=[0-9a-z]{16,}$/i;

/** ASP.NET keeps a session in the path: `/(S(lit3py55t21z5v55vlm25s55))/page.aspx`. */
const PATH_SESSION = /\/\((?:(?:[a-z]\([0-9a-z]{24}\))+|[0-9a-z]{24})\)(?=\/)/gi;

/** The rules of one config, compiled. */
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

  /** @returns the URL with the identity that these rules give it; applying them twice adds nothing */
  apply(url: CrawlUrl): CrawlUrl {
    if (!this.#active) return url;
    const dropped = this.#drop(url.identity);
    if (dropped === url.identity) return url;
    // What is left of a path segment may be a dot segment.
    const again = parseCrawlUrl(dropped);
    const identity = 'refused' in again ? url.identity : again.identity;
    return { identity, fetchUrl: url.fetchUrl, host: url.host };
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

  /** @returns null where nothing of it is left */
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
