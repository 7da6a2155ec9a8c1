// What a request line names: path and query of a URL as it is written. `URL.search` does not tell an
// empty query from none, and Node's clients and many others drop the question mark, so that a server
// would be asked for another URL than the one that is noted. The fetcher asks, and so does
// robots.txt, whose rules are about what is asked for.

/** @param url - of a web scheme; its fragment is left out */
export function requestTarget(url: URL): string {
  const { pathname, search, href } = url;
  if (search !== '') return pathname + search;
  const hash = href.indexOf('#');
  const end = hash < 0 ? href.length : hash;
  return href[end - 1] === '?' ? `${pathname}?` : pathname;
}
