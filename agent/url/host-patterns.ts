// Host patterns of the config and of directives: a host, `*.h` for the subdomains of
// h (not h itself), or `*` for every host. A look-up costs one map access per label of the host,
// however many patterns there are.

/** Maps host patterns to values. */
export class HostPatterns<T> {
  readonly #exact = new Map<string, T>();
  /** Values of the patterns `*.h`, by `h`. */
  readonly #parents = new Map<string, T>();
  #everywhere: T | undefined;

  constructor(entries: Iterable<readonly [pattern: string, value: T]> = []) {
    for (const [pattern, value] of entries) {
      if (pattern === '*') this.#everywhere = value;
      else if (pattern.startsWith('*.')) this.#parents.set(pattern.slice(2), value);
      else this.#exact.set(pattern, value);
    }
  }

  /** @returns the value of the most specific pattern that matches the host, or undefined */
  get(host: string): T | undefined {
    const exact = this.#exact.get(host);
    if (exact !== undefined) return exact;
    if (this.#parents.size > 0) {
      for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
        const parent = this.#parents.get(host.slice(dot + 1));
        if (parent !== undefined) return parent;
      }
    }
    return this.#everywhere;
  }
}

/** @returns whether the pattern matches the host */
export function matchesHost(pattern: string, host: string): boolean {
  if (pattern === '*') return true;
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern;
}
