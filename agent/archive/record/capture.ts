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
  /** The payload that an earlier visit to this page archived; absent if there is none. */
  readonly previous?: ArchivedPayload;
}

/** The record that has a payload, to which revisits refer. */
export interface Original {
  readonly url: string;
  /** As in the record. Together with `url` it identifies the record. */
  readonly date: string;
  /** The file of the record, by its name within the directory of the archive. */
  readonly file: string;
}

export interface ArchivedPayload extends Original {
  /** SHA-1 in base 32. */
  readonly payload: string;
}

/** The place of a response record, and the sizes of the files up to and including it. */
export interface ArchivePlace {
  /** Name within the directory of the archive. */
  readonly file: string;
  /** Offset of the compressed response or revisit record in the file, in bytes. */
  readonly offset: number;
  /** Sizes of the file and of its index, in bytes, including this record. */
  readonly end: number;
  readonly indexEnd: number;
  /** SHA-1 of the payload in base 32, for later revisits; absent if it is empty or incomplete. */
  readonly payload?: string;
}

/** The last place in the archive that the database has committed. */
export type ArchivePosition = Omit<ArchivePlace, 'offset' | 'payload'>;
