/**
 * Joins the small chunks of one read of a chunked body (RFC 9112, section 7.1) into one chunk. A
 * server may send each byte in its own chunk: ten thousand of them arrive in one read, and hundreds
 * of reads in one turn of the event loop. Each byte is looked at once and no object outlives its
 * chunk, so the work depends on the bytes alone.
 */

/** Bytes. Larger chunks are not copied; at most sixteen of them arrive in one read. */
const SMALL_BYTES = 4096;
/** Shorter runs are passed on unchanged, so an ordinary page is not copied. */
const JOINED_MIN = 8;
/** As in `chunk-filter.ts`; includes leading zeros. */
const DIGITS_MAX = 13;
/** As in `chunk-filter.ts`. */
const LINE_CHARS_MAX = 16 * 1024;
const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const SEMICOLON = 0x3b;
const DELETE = 0x7f;
const CRLF = Buffer.from('\r\n', 'latin1');

interface JoinedChunks {
  /** One chunk in the strict form. */
  readonly chunk: Buffer;
  readonly dataBytes: number;
  /** Offset after the joined chunks in the bytes of the read. */
  readonly end: number;
  /** At least one chunk was not in the strict form. */
  readonly isOdd: boolean;
}

/**
 * @param from offset of a chunk size
 * @returns null if few complete small chunks follow; they are passed on unchanged
 */
export function joinSmallChunks(bytes: Buffer, from: number): JoinedChunks | null {
  if (!hasManyChunks(bytes, from)) return null;
  const data = Buffer.allocUnsafe(bytes.length - from);
  let dataBytes = 0;
  let end = from;
  let isOdd = false;
  for (let chunk = smallChunk(bytes, end); chunk !== null; chunk = smallChunk(bytes, end)) {
    const { start, length } = chunk;
    // For a few bytes a loop is cheaper than a view.
    if (length < 64) for (let k = 0; k < length; k++) data[dataBytes + k] = bytes[start + k]!;
    else data.set(bytes.subarray(start, start + length), dataBytes);
    dataBytes += length;
    end = chunk.end;
    isOdd ||= chunk.isOdd;
  }
  const size = Buffer.from(`${dataBytes.toString(16)}\r\n`, 'latin1');
  const joined = Buffer.concat([size, data.subarray(0, dataBytes), CRLF]);
  return { chunk: joined, dataBytes, end, isOdd };
}

function hasManyChunks(bytes: Buffer, from: number): boolean {
  let end = from;
  for (let count = 0; count < JOINED_MIN; count++) {
    const chunk = smallChunk(bytes, end);
    if (chunk === null) return false;
    end = chunk.end;
  }
  return true;
}

/**
 * Reads a complete small chunk, in the same forms as `chunk-filter.ts`.
 *
 * @returns null if the chunk is large, the last one, incomplete or invalid
 */
function smallChunk(bytes: Buffer, from: number) {
  let at = from;
  let length = 0;
  for (let digit = hexDigit(bytes[at]); digit >= 0; digit = hexDigit(bytes[at])) {
    length = length * 16 + digit;
    if (++at - from > DIGITS_MAX) return null;
  }
  if (at === from || length === 0 || length >= SMALL_BYTES) return null;
  let isOdd = false;
  for (; bytes[at] === SPACE || bytes[at] === TAB; at++) isOdd = true;
  if (bytes[at] === SEMICOLON) {
    for (; at < bytes.length && bytes[at] !== LF; at++) {
      const byte = bytes[at]!;
      const isLast = byte === CR && bytes[at + 1] === LF;
      if ((byte < SPACE && byte !== TAB && !isLast) || byte === DELETE) isOdd = true;
    }
    if (bytes[at - 1] !== CR) isOdd = true;
  } else if (bytes[at] === CR) {
    at++;
  } else {
    isOdd = true;
  }
  if (bytes[at] !== LF || at - from >= LINE_CHARS_MAX) return null;
  const start = at + 1;
  at = start + length;
  if (bytes[at] === CR) at++;
  else isOdd = true;
  return bytes[at] === LF ? { start, length, end: at + 1, isOdd } : null;
}

/** @returns -1 if the byte is not a digit */
function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
