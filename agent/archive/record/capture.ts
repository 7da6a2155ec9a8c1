// What is handed to the archive, and what it answers: one exchange with a server as it was on the
// wire, and the place where it went. The page pipeline makes the one and passes the other on, to
// be committed with the page's row.

/** Why a body is only a prefix, in the words of WARC-Truncated. */
export type Truncation = 'length' | 'time' | 'disconnect';

export interface Capture {
  /** As requested: absolute, without fragment and userinfo. */
  readonly url: string;
  readonly ip: string | null;
  /** When the request began, Unix milliseconds. */
  readonly startedAt: number;
  /** Status line or request line with header fields and the empty line, each byte a character. */
  readonly requestHead: string;
  readonly responseHead: string;
  readonly status: number;
  readonly contentType: string | null;
  readonly truncated: Truncation | null;
  /** Fields of the metadata record; names without colon, values without line ends. */
  readonly metadata: readonly (readonly [name: string, value: string])[];
  /** The payload of this URL that the crawl has archived before; absent where it has none. */
  readonly former?: ArchivedPayload;
}

/** A payload and its first record, which revisits point to. */
export interface ArchivedPayload {
  /** SHA-1 in base 32. */
  readonly payload: string;
  readonly url: string;
  /** Unix seconds of its capture, by which the record is found. */
  readonly at: number;
}

/** Where a response is, and how far the archive had come with it. */
export interface ArchivePlace {
  /** Name within the archive's directory. */
  readonly file: string;
  /** First byte of the response or revisit, as it is packed. */
  readonly offset: number;
  /** Bytes of the file, and of its index, up to and with this record. */
  readonly end: number;
  readonly indexEnd: number;
  /** Absent where there is no whole payload to point to. */
  readonly original?: ArchivedPayload;
}

/** How far a database knows the archive: the last place committed in it. */
export type ArchivePosition = Omit<ArchivePlace, 'offset' | 'original'>;
