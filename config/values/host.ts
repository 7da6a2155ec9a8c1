// Hosts and host patterns as the config writes them. The serialised form (`URL.hostname`, one
// trailing dot removed) is what `agent/url` compares with, so patterns are brought to it here, where
// a wrong one can still be reported with its line. `config/` imports nothing of `agent/`, hence the
// few lines that both have.

/** @returns the host of an absolute http or https URL, or null where it is none. */
export function hostOfSeed(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return null;
  return withoutRootDot(url.hostname);
}

/**
 * @param text - `*` (every host), `*.h` (the subdomains of h, not h), or a host
 * @returns the pattern in serialised form, or null where it is none of the three
 */
export function parseHostPattern(text: string): string | null {
  if (text === '*') return text;
  const parent = text.startsWith('*.') ? text.slice(2) : null;
  const bare = parent ?? text;
  // Whatever could end the authority would let `host/path` or `user@host` pass as a host.
  if (/[\s/?#@\\*]/.test(bare) || (bare.includes(':') && !bare.startsWith('['))) return null;
  if (bare.startsWith('[') && !bare.endsWith(']')) return null;
  const host = hostOfSeed(`http://${bare}/`);
  if (host === null || (parent !== null && isAddress(host))) return null;
  return parent === null ? host : `*.${host}`;
}

/** @returns a test whether a host is matched by any of the (serialised) patterns. */
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

/** An address has no subdomains. Serialised IPv4 always ends in a number, a name never does. */
function isAddress(host: string): boolean {
  return host.startsWith('[') || /(^|\.)\d+$/.test(host);
}
