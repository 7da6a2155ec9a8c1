// Lines of the index beside each archive file: sort key, time and a JSON object that says where
// the record is. They are written in the order of the records, because a line goes to disk together
// with its record, and sorted when the file is complete (sorted-index.ts). `LC_ALL=C sort -m` merges
// sorted files into the one that replay tools search. warc-writer.ts writes the lines; a start reads
// them, to know earlier payloads and the end of a file that no database knows.

import { surtOf } from './surt.ts';

/** A record as the index names it. */
export interface IndexEntry {
  readonly url: string;
  /** When the capture began, such as `2026-01-02T03:04:05Z`. */
  readonly date: string;
  /** `warc/revisit` for a revisit record; null where the server named no type. */
  readonly mime: string | null;
  readonly status: number;
  /** Payload digest: SHA-1 in base 32, without the name of the algorithm. */
  readonly digest: string;
  /** Bytes of the record in the file, as it is packed, and where it begins. */
  readonly length: number;
  readonly offset: number;
  readonly filename: string;
}

/** The line with its end. Numbers are text in it, as in every CDXJ that tools write. */
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

/** Null where the text is not a whole line of {@link cdxjLine}. */
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
