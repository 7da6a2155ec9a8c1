/**
 * Decides from the Content-Type header whether a page is read. The check runs when the header has
 * arrived, so an unwanted film costs no more than its header.
 */

export class ContentTypes {
  readonly #exact: ReadonlySet<string>;
  /** Prefixes: `text/` for `text/*`. The empty string accepts all types. */
  readonly #beginnings: readonly string[];

  /** @param wanted media types such as `application/xhtml+xml` or `text/*`, in any case. */
  constructor(wanted: readonly string[]) {
    const types = wanted.map((type) => type.toLowerCase());
    this.#exact = new Set(types);
    this.#beginnings = types
      .filter((type) => type.endsWith('/*'))
      .map((type) => (type === '*/*' ? '' : type.slice(0, -1)));
  }

  /** @param header the Content-Type header; its parameters are ignored. */
  accepts(header: string): boolean {
    const type = header
      .trim()
      .split(/[;,\s]/, 1)[0]!
      .toLowerCase();
    return this.#exact.has(type) || this.#beginnings.some((start) => type.startsWith(start));
  }
}
