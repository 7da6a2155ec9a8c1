// The input and the result of the archive: one HTTP exchange as it was sent and received, and the
// place where it was written.

/** Why a body is incomplete, in the terms of WARC-Truncated. */
type Truncation = 'length' | 'time' | 'disconnect';

export interface Capture {
  /** As requested: absolute, without fragment and user information. */
  readonly url: string;
  readonly ip: string | null;
  /** Start of the request, Unix milliseconds. */
  readonly startedAt: number;
  /** Request line or status line, header fields and the empty line; one character for each byte. */
  readonly requestHead: string;
  readonly responseHead: string;
  readonly status: number;
  readonly contentType: string | null;
  readonly truncated: Truncation | null;
  /** Fields of the metadata record; names without colon, values without line ends. */
  readonly metadata: readonly (readonly [name: string, value: string])[];
  /** The payload archived before for this URL; absent if there is none. */
  readonly former?: ArchivedPayload;
}

/** A payload and its first record, to which revisits refer. */
export interface ArchivedPayload {
  /** SHA-1 in base 32. */
  readonly payload: string;
  readonly url: string;
  /** Time of the capture, Unix seconds, which identifies the record. */
  readonly at: number;
}

/** Where a response is, and how far the archive was written. */
export interface ArchivePlace {
  /** Name within the directory of the archive. */
  readonly file: string;
  /** First byte of the response or revisit, as compressed. */
  readonly offset: number;
  /** Sizes of the file and of its index, in bytes, including this record. */
  readonly end: number;
  readonly indexEnd: number;
  /** Absent if there is no complete payload to refer to. */
  readonly original?: ArchivedPayload;
}

/** How far the database knows the archive: the last committed place. */
export type ArchivePosition = Omit<ArchivePlace, 'offset' | 'original'>;
