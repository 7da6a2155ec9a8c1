// Lines of the index beside each archive file: sort key, time and a JSON object with the place of
// the record. A line goes to disk together with its record, so the lines are in the order of the
// records until the file is complete and the index is sorted. `LC_ALL=C sort -m` merges sorted
// indexes into one that replay tools can search.

/** A record as the index describes it. */
export interface IndexEntry {
  readonly url: string;
  /** Start of the capture, such as `2026-01-02T03:04:05Z`. */
  readonly date: string;
  /** `warc/revisit` for a revisit record; null if the server sent no type. */
  readonly mime: string | null;
  readonly status: number;
  /** SHA-1 of the payload in base 32, without the name of the algorithm. */
  readonly digest: string;
  /** Compressed bytes of the record in the file, and their offset. */
  readonly length: number;
  readonly offset: number;
  readonly filename: string;
}

/**
 * The sort key of a URL: the labels of the host in reverse order, so that a domain and its
 * subdomains are adjacent, then port, path and query. pywb searches for this key: lower case, no
 * `www.`, sorted parameters, no slash at the end of a path. It also drops session numbers, which
 * are kept here. Any text but an http or https URL is its own key.
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
  const path = parsed.pathname.replace(/(?<=.)\/$/, '');
  return `${host}${port})${path}${query}`;
}

/** The line with its line end. Numbers are strings, as in the CDXJ of other tools. */
export function cdxjLine(entry: IndexEntry): string {
  const { url, date, mime, status, digest, length, offset, filename } = entry;
  const fields = {
    url,
    ...(mime === null ? {} : { mime }),
    status: String(status),
    digest,
    length: String(length),
    offset: String(offset),
    filename,
  };
  const timestamp = date.replace(/\D/g, '').slice(0, 14);
  return `${surtOf(url)} ${timestamp} ${JSON.stringify(fields)}\n`;
}

/** Null if the text is not a whole line of {@link cdxjLine}. */
export function readCdxjLine(line: string): IndexEntry | null {
  const match = /^\S+ (\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d) (\{.*\})$/.exec(line);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, json] = match;
  try {
    const fields = JSON.parse(json!) as Partial<Record<string, string>>;
    const offset = Number(fields.offset);
    const length = Number(fields.length);
    if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length)) return null;
    return {
      url: String(fields.url),
      date: `${year}-${month}-${day}T${hour}:${minute}:${second}Z`,
      mime: fields.mime ?? null,
      status: Number(fields.status),
      digest: String(fields.digest),
      length,
      offset,
      filename: String(fields.filename),
    };
  } catch {
    return null;
  }
}
