// Parses hosts and host patterns. Their serialized form is `URL.hostname` without one trailing dot,
// as in `agent/url`. A few lines are duplicated there, because `config/` must not import `agent/`.

/** @returns the host of an absolute http or https URL, or null for any other text */
export function hostOfSeed(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return null;
  return withoutRootDot(url.hostname);
}

/**
 * @param text - `*` (all hosts), `*.h` (the subdomains of h, but not h), or a host
 * @returns the serialized pattern, or null for any other text
 */
export function parseHostPattern(text: string): string | null {
  if (text === '*') return text;
  const parent = text.startsWith('*.') ? text.slice(2) : null;
  const bare = parent ?? text;
  // A character that ends the host would let `host/path` or `user@host` pass as a host.
  if (/[\s/?#@\\*]/.test(bare) || (bare.includes(':') && !bare.startsWith('['))) return null;
  if (bare.startsWith('[') && !bare.endsWith(']')) return null;
  const host = hostOfSeed(`http://${bare}/`);
  if (host === null || (parent !== null && isAddress(host))) return null;
  return parent === null ? host : `*.${host}`;
}

/** @returns a function that tests whether a host matches any of the serialized patterns */
export function hostMatcher(patterns: readonly string[]): (host: string) => boolean {
  const known = new Set(patterns);
  if (known.has('*')) return () => true;
  return (host) => {
    if (known.has(host)) return true;
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      if (known.has(`*${host.slice(dot)}`)) return true;
    }
    return false;
  };
}

function withoutRootDot(hostname: string): string | null {
  const host = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
  return host === '' || host.startsWith('.') || host.includes('..') || host.endsWith('.')
    ? null
    : host;
}

/** Addresses have no subdomains. Serialized IPv4 ends in a number, but a name never does. */
function isAddress(host: string): boolean {
  return host.startsWith('[') || /(^|\.)\d+$/.test(host);
}
