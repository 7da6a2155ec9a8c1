/**
 * Lets responses through that browsers and curl read and Node's strict parser refuses
 * (docs/adr/0022): folded fields (RFC 9112, section 5.2), whitespace before the colon (5.1), lines
 * that end in LF alone (2.2), lines that are not fields, other minor versions, Content-Length
 * beside Transfer-Encoding, equal repetitions of either, a length that is not a plain number (6.3),
 * unusual chunks (`chunk-filter.ts`), and bytes after the body.
 *
 * The filter stands between the socket and the parser and rewrites the head into its strict form,
 * so one parser frames the body by one rule. The leniency cannot smuggle one response into another:
 * after such a response the connection is closed, and bytes after the body never reach the parser.
 */

import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { ChunkFilter } from './chunk-filter.ts';
import { ORIGINAL_TRANSFER_ENCODING } from './raw-heads.ts';
import { BODILESS } from './response-headers.ts';

const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const VALUE = '[\\t\\x20-\\x7e\\x80-\\xff]*';
const STRICT = new RegExp(
  `^HTTP/1\\.[01] \\d{3}(?: ${VALUE})?\\r\\n(?:${TOKEN}:${VALUE}\\r\\n)*\\r\\n$`,
);
/**
 * Versions below 1.1 become 1.0, because they do not keep connections alive by default; others
 * become 1.1.
 */
const STATUS_LINE = /^HTTP\/(?:(0\.\d|1\.0)|\d(?:\.\d)?)[ \t]+(\d{3})(?:[ \t]+([^\n]*))?$/i;
const FIELD = new RegExp(`^(${TOKEN})[ \\t]*:(.*)$`);
const HEAD_END = /\n\r?\n/;
const FOLD = /\r?\n[ \t]+/g;
/**
 * Control characters except tab and line feed, to be replaced by a space (RFC 9110, section 5.5).
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f]/g;

/** Interim responses accepted before a response. Servers may send any number, but need few. */
const INTERIM_MAX = 100;
/** Not a response, so the parser refuses it. */
const TOO_MANY_INTERIM = Buffer.from('too many interim responses\r\n\r\n');

/** A head in its strict form, and the framing of the body after it. */
export interface FilteredHead {
  readonly text: string;
  /** The head was not strict, or its framing was ambiguous. */
  readonly isOdd: boolean;
  readonly status: number;
  /** Bytes of the body; Infinity: the parser finds its end. */
  readonly bodyBytes: number;
  /** The body is chunked. */
  readonly isChunked: boolean;
  /** The Content-Length, as sent, does not state the length of the body. */
  readonly isLengthVoid: boolean;
}

/** @param text status line, fields and the empty line, each character one byte */
export function filterHead(text: string): FilteredHead {
  const isStrict = STRICT.test(text);
  const [statusLine = '', ...lines] = (isStrict ? text : rewritten(text)).split('\r\n');
  const fields = lines.slice(0, -2);
  const lengths = valuesOf(fields, 'content-length').flatMap((value) => value.split(','));
  const codings = valuesOf(fields, 'transfer-encoding');
  const isCoded = codings.some((coding) => coding.toLowerCase() !== 'identity');
  const status = Number(statusLine.slice(9, 12));
  const length = agreedLength(lengths);
  const isPlain = lengths.every((value) => PLAIN_LENGTH.test(value.trim()));
  const isFaulty = isFaultyTransfer(statusLine, status, codings, length);
  const isOdd =
    !isStrict ||
    isFaulty ||
    !isPlain ||
    lengths.length > 1 ||
    (lengths.length > 0 && codings.length > 0);
  const isBodiless = BODILESS.has(status);
  const bodyBytes = isBodiless ? 0 : isCoded || typeof length !== 'number' ? Infinity : length;
  const coding = isCoded ? agreedCodings(codings) : '';
  const isChunked = !isBodiless && /(?:^|[, \t])chunked$/i.test(coding);
  const head = { isOdd, status, bodyBytes, isChunked, isLengthVoid: isCoded || !isPlain };
  if (!isOdd) return { ...head, text };
  const kept = fields.filter((field) => {
    const name = nameOf(field);
    // Different lengths are kept, so that the parser refuses them.
    if (name === 'content-length') return !isCoded && length === 'differ';
    return name !== 'transfer-encoding';
  });
  if (isCoded) kept.push(`Transfer-Encoding: ${coding}`);
  if (!isCoded && typeof length === 'number') kept.push(`Content-Length: ${length}`);
  return { ...head, text: [statusLine, ...kept, '', ''].join('\r\n') };
}

/** Unfolds fields, removes whitespace before colons, and drops lines that are not fields. */
function rewritten(text: string): string {
  const plain = text.replace(FOLD, ' ').replace(/\r\n/g, '\n').replace(CONTROLS, ' ');
  const [statusLine = '', ...lines] = plain.trimEnd().split('\n');
  const fields = lines.flatMap((line) => {
    const [, name, value] = FIELD.exec(line) ?? [];
    return name === undefined ? [] : `${name}:${value}`;
  });
  return [strictStatus(statusLine), ...fields, '', ''].join('\r\n');
}

/** A line that is not a status line is kept, so that the parser refuses it. */
function strictStatus(line: string): string {
  const [, old, status, reason = ''] = STATUS_LINE.exec(line) ?? [];
  return status === undefined
    ? line
    : `HTTP/${old === undefined ? '1.1' : '1.0'} ${status} ${reason}`;
}

function nameOf(field: string): string {
  return field.slice(0, field.indexOf(':')).toLowerCase();
}

function valuesOf(fields: readonly string[], name: string): string[] {
  return fields
    .filter((field) => nameOf(field) === name)
    .map((field) => field.slice(name.length + 1).trim());
}

/** The form that the parser accepts. */
const PLAIN_LENGTH = /^\d{1,19}$/;
/** The form that curl and browsers accept: sign, leading zeros and parameters are ignored. */
const LENGTH = /^\+?0*(\d{1,19})(?:[ \t]*;.*)?$/;

/** @returns null if no length is given; the body then ends with the connection. */
function agreedLength(lengths: readonly string[]): number | null | 'differ' {
  const [first = null, ...others] = lengths.map((length) => {
    const digits = LENGTH.exec(length.trim())?.[1];
    return digits === undefined ? null : Number(digits);
  });
  return others.every((other) => other === first) ? first : 'differ';
}

/**
 * Whether the framing is invalid: Transfer-Encoding repeated, in HTTP/1.0 (RFC 9112, section 6.1)
 * or without a body, or a length of a 204. The length of a 304 is that of the page.
 */
function isFaultyTransfer(
  statusLine: string,
  status: number,
  codings: readonly string[],
  length: ReturnType<typeof agreedLength>,
): boolean {
  if (codings.length > 1) return true;
  if (codings.length === 1) return statusLine.startsWith('HTTP/1.0') || BODILESS.has(status);
  return status === 204 && typeof length === 'number' && length > 0;
}

/** Chunking is undone once, however often it is named. */
function agreedCodings(codings: readonly string[]): string {
  const names = codings.flatMap((value) => value.split(',')).map((name) => name.trim());
  const known = names.filter((name) => !/^(?:identity)?$/i.test(name));
  const isChunked = (name: string) => name.toLowerCase() === 'chunked';
  return known.every(isChunked) ? 'chunked' : known.join(', ');
}

/**
 * Renames the fields that do not describe the stored body (`raw-heads.ts`). Every line ends in
 * CRLF, because readers of archives find the end of the head by its empty CRLF line. A CR inside a
 * line and the line of a folded field stay.
 */
function archivedHead(text: string, isLengthVoid: boolean): string {
  const lines = text.replace(/\r?\n/g, '\r\n');
  const named = lines.replace(/^transfer-encoding(?=[ \t]*:)/gim, ORIGINAL_TRANSFER_ENCODING);
  return isLengthVoid ? named.replace(/^(?=content-length[ \t]*:)/gim, 'X-Orig-') : named;
}

/** Filters the bytes of one response, read by read. */
export class ResponseFilter {
  readonly #headBytesMax: number;
  #pending: Buffer | null = null;
  /** Null: a head is being read. */
  #bodyLeft: number | null = null;
  #chunks: ChunkFilter | null = null;
  #interim = 0;
  /** The connection must not be reused after this response. */
  isOdd = false;
  /** For the archive: the head as received, except its line ends; null: the parser saw it unchanged. */
  oddHead: string | null = null;

  constructor(headBytesMax: number) {
    this.#headBytesMax = headBytesMax;
  }

  /** @returns the bytes of an unfinished head, for the parser when no more bytes come. */
  takePending(): Buffer | null {
    const pending = this.#pending;
    this.#pending = null;
    return pending;
  }

  /** @returns the bytes for the parser; null: none yet. */
  push(chunk: Buffer): Buffer | null {
    if (this.#bodyLeft !== null) return this.#body(chunk);
    const bytes = this.#pending === null ? chunk : Buffer.concat([this.#pending, chunk]);
    this.#pending = null;
    const text = bytes.toString('latin1', 0, this.#headBytesMax);
    const start = /^[\r\n]*/.exec(text)![0].length;
    const end = HEAD_END.exec(text.slice(start));
    if (end === null) {
      if (bytes.length < this.#headBytesMax) {
        this.#pending = bytes;
        return null;
      }
      // The head is too long; the parser reports that.
      this.#bodyLeft = Infinity;
      return bytes;
    }
    const headEnd = start + end.index + end[0].length;
    const head = filterHead(text.slice(start, headEnd));
    this.isOdd ||= head.isOdd;
    const rest = bytes.subarray(headEnd);
    const isInterim = head.status >= 100 && head.status < 200 && head.status !== 101;
    if (isInterim && ++this.#interim > INTERIM_MAX) {
      this.isOdd = true;
      this.#bodyLeft = 0;
      return TOO_MANY_INTERIM;
    }
    if (head.isChunked) this.#chunks = new ChunkFilter();
    if (head.isOdd && !isInterim) {
      this.oddHead = archivedHead(text.slice(start, headEnd), head.isLengthVoid);
    }
    this.#bodyLeft = isInterim ? null : head.status === 101 ? Infinity : head.bodyBytes;
    const after = rest.length === 0 ? null : isInterim ? this.push(rest) : this.#body(rest);
    const isWhole = after === rest || (after === null && rest.length === 0);
    if (!head.isOdd && start === 0 && isWhole) return bytes;
    const parts = [Buffer.from(head.text, 'latin1'), ...(after === null ? [] : [after])];
    return Buffer.concat(parts);
  }

  #body(chunk: Buffer): Buffer | null {
    if (this.#chunks !== null) {
      const bytes = this.#chunks.push(chunk);
      this.isOdd ||= this.#chunks.isOdd;
      return bytes;
    }
    const left = this.#bodyLeft!;
    if (chunk.length <= left) {
      this.#bodyLeft = left - chunk.length;
      return chunk;
    }
    this.isOdd = true;
    this.#bodyLeft = 0;
    return left === 0 ? null : chunk.subarray(0, left);
  }
}

/**
 * Filters the bytes that the socket receives for this request. Call it in the request's `socket`
 * event: Node's parser is then attached, and nothing has been read.
 *
 * @param parts.onOdd called before the parser sees a response after which the connection must not
 * be reused
 * @returns null if nothing is filtered
 */
export function filterResponse(
  socket: Socket,
  headBytesMax: number,
  { request, onOdd }: { readonly request: ClientRequest; readonly onOdd: () => void },
): ResponseFilter | null {
  const [parse, ...others] = socket.listeners('data') as ((chunk: Buffer) => void)[];
  // Another version of Node may read differently; its parser then works alone.
  if (parse === undefined || others.length > 0) return null;
  const filter = new ResponseFilter(headBytesMax);
  const pass = (bytes: Buffer | null) => {
    if (filter.isOdd) onOdd();
    if (bytes !== null) parse.call(socket, bytes);
  };
  const onData = (chunk: Buffer) => pass(filter.push(chunk));
  const onEnd = () => pass(filter.takePending());
  socket.off('data', parse);
  socket.on('data', onData);
  socket.prependOnceListener('end', onEnd);
  // Runs before a kept connection is available to the next request.
  request.once('close', () => {
    socket.off('data', onData);
    socket.off('end', onEnd);
  });
  return filter;
}
