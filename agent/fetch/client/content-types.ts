/**
 * Which responses are pages that somebody wants read, by the type they declare. It is asked when
 * the header has come, so that an unwanted film costs its header and no more. `exchange.ts` asks.
 */

export class ContentTypes {
  readonly #exact: ReadonlySet<string>;
  /** `text/` for `text/*`, the empty string for all. */
  readonly #beginnings: readonly string[];

  /** @param wanted such as `application/xhtml+xml` or `text/*`; case does not matter. */
  constructor(wanted: readonly string[]) {
    const types = wanted.map((type) => type.toLowerCase());
    this.#exact = new Set(types);
    this.#beginnings = types
      .filter((type) => type.endsWith('/*'))
      .map((type) => (type === '*/*' ? '' : type.slice(0, -1)));
  }

  /** @param header the Content-Type header; parameters do not count. */
  accepts(header: string): boolean {
    const type = header.split(/[;,]/, 1)[0]!.trim().toLowerCase();
    return this.#exact.has(type) || this.#beginnings.some((start) => type.startsWith(start));
  }
}
