// The request target of a URL: path and query as written. `URL.search` does not distinguish an
// empty query from none, and many HTTP clients, Node's too, drop the question mark, so the server
// would get another URL than the recorded one. Rules of robots.txt apply to this target as well.

/** @param url - http or https; its fragment is left out */
export function requestTarget(url: URL): string {
  const { pathname, search, href } = url;
  if (search !== '') return pathname + search;
  const hash = href.indexOf('#');
  const end = hash < 0 ? href.length : hash;
  return href[end - 1] === '?' ? `${pathname}?` : pathname;
}
