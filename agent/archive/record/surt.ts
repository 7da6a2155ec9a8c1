// The sort key under which an index names a URL: the host's labels turned round, so that a domain
// and all below it stand together, then port, path and query. Replay tools look pages up by it,
// so it follows what they compute (pywb, warcio): lower case, no `www.`, query in order of its
// parts. Called by cdxj.ts.

/**
 * @param url absolute http or https URL; any other text is its own key.
 * @returns such as `org,example)/path?a=1&b=2`
 */
export function surtOf(url: string): string {
  if (!/^https?:/.test(url)) return url;
  const parsed = URL.parse(url.replace(/^(https?:\/\/)www\d*\./, '$1').toLowerCase());
  if (parsed === null) return url;
  const host = parsed.hostname.split('.').reverse().join(',');
  const port = parsed.port === '' ? '' : `:${parsed.port}`;
  const parts = parsed.search === '' ? [] : parsed.search.slice(1).split('&').sort();
  const query = parts.length === 0 ? '' : `?${parts.join('&')}`;
  return `${host}${port})${parsed.pathname}${query}`;
}
