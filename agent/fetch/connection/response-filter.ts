/**
 * Lets responses through that browsers and curl read and the strict parser of Node refuses
 * (adr/0022): folded fields (RFC 9112, section 5.2), blanks before the colon (5.1), lines that end
 * in LF alone (2.2), lines that are no fields, another minor version, Content-Length beside
 * Transfer-Encoding, either given twice alike, or a length that is no plain number (6.3), odd chunks
 * (`chunk-filter.ts`), and bytes after the body. The filter stands between the socket and the parser and rewrites the head into
 * its strict form, so the body is framed by one parser and by one rule. No leniency can smuggle one
 * response into another: after such a response the connection is closed, and bytes beyond the end
 * of the body never reach the parser.
 */

import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import { ChunkFilter } from './chunk-filter.ts';
import { ORIGINAL_TRANSFER_ENCODING } from './raw-heads.ts';

const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const VALUE = '[\\t\\x20-\\x7e\\x80-\\xff]*';
const STRICT = new RegExp(
  `^HTTP/1\\.[01] \\d{3}(?: ${VALUE})?\\r\\n(?:${TOKEN}:${VALUE}\\r\\n)*\\r\\n$`,
);
/** The minor version is told to nobody; 1.0 keeps no connection by itself. */
const STATUS_LINE = /^HTTP\/(?:(0\.\d|1\.0)|\d(?:\.\d)?)[ \t]+(\d{3})(?:[ \t]+([^\n]*))?$/i;
const FIELD = new RegExp(`^(${TOKEN})[ \\t]*:(.*)$`);
const HEAD_END = /\n\r?\n/;
const FOLD = /\r?\n[ \t]+/g;
/** Control characters but for tab and line feed; RFC 9110, section 5.5: to be replaced. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f]/g;

/** Nobody has more to say before the response; servers may send any number. */
const INTERIM_MAX = 100;
/** No response: the parser refuses it. */
const TOO_MANY_INTERIM = Buffer.from('too many interim responses\r\n\r\n');

/** A head in its strict form, and how the body after it is framed. */
export interface FilteredHead {
  readonly text: string;
  /** It was no strict head, or its framing could be read in two ways. */
  readonly isOdd: boolean;
  readonly status: number;
  /** Body bytes that follow; Infinity: the parser finds the end. */
  readonly bodyBytes: number;
  /** They are chunks. */
  readonly isChunked: boolean;
  /** A Content-Length, as it was sent, does not tell their number. */
  readonly isLengthVoid: boolean;
}

/** @param text - status line, fields and the empty line, each byte a character */
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
  const isFaulty = isFaultyTransfer(statusLine, status, { codings, length });
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
    // Lengths that differ stay, and the parser refuses them.
    if (name === 'content-length') return !isCoded && length === 'differ';
    return name !== 'transfer-encoding';
  });
  if (isCoded) kept.push(`Transfer-Encoding: ${coding}`);
  if (!isCoded && typeof length === 'number') kept.push(`Content-Length: ${length}`);
  return { ...head, text: [statusLine, ...kept, '', ''].join('\r\n') };
}

/** One field a line, no blanks before the colon, no line that is no field. */
function rewritten(text: string): string {
  const plain = text.replace(FOLD, ' ').replace(/\r\n/g, '\n').replace(CONTROLS, ' ');
  const [statusLine = '', ...lines] = plain.trimEnd().split('\n');
  const fields = lines.flatMap((line) => {
    const [, name, value] = FIELD.exec(line) ?? [];
    return name === undefined ? [] : `${name}:${value}`;
  });
  return [strictStatus(statusLine), ...fields, '', ''].join('\r\n');
}

/** Whatever is none stays, to be refused. */
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

/** The parser refuses more digits. */
const PLAIN_LENGTH = /^\d{1,19}$/;
/** As curl and browsers read it: a sign, zeros and parameters count for nothing. */
const LENGTH = /^\+?0*(\d{1,19})(?:[ \t]*;.*)?$/;

/** Null: there is no number that tells the end, so the body ends with the connection. */
function agreedLength(lengths: readonly string[]): number | null | 'differ' {
  const [first = null, ...others] = lengths.map((length) => {
    const digits = LENGTH.exec(length.trim())?.[1];
    return digits === undefined ? null : Number(digits);
  });
  return others.every((other) => other === first) ? first : 'differ';
}

/** These end with the head, whatever it says. */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

/**
 * Codings that are given twice, in HTTP/1.0 (RFC 9112, section 6.1), or of a response without a
 * body, which has no length either (204; that of a 304 is the page's).
 */
function isFaultyTransfer(
  statusLine: string,
  status: number,
  {
    codings,
    length,
  }: { readonly codings: readonly string[]; readonly length: ReturnType<typeof agreedLength> },
): boolean {
  if (codings.length > 1) return true;
  if (codings.length === 1) return statusLine.startsWith('HTTP/1.0') || BODILESS.has(status);
  return status === 204 && typeof length === 'number' && length > 0;
}

/** Chunks are undone once, however often they are named. */
function agreedCodings(codings: readonly string[]): string {
  const names = codings.flatMap((value) => value.split(',')).map((name) => name.trim());
  const known = names.filter((name) => !/^(?:identity)?$/i.test(name));
  const isChunked = (name: string) => name.toLowerCase() === 'chunked';
  return known.every(isChunked) ? 'chunked' : known.join(', ');
}

/** Named otherwise is what is not true of the body that is stored (`raw-heads.ts`). */
function archivedHead(text: string, isLengthVoid: boolean): string {
  const named = text.replace(/^transfer-encoding(?=[ \t]*:)/gim, ORIGINAL_TRANSFER_ENCODING);
  return isLengthVoid ? named.replace(/^(?=content-length[ \t]*:)/gim, 'X-Orig-') : named;
}

/** The bytes of one response, chunk by chunk, as the parser is to see them. */
export class ResponseFilter {
  readonly #headBytesMax: number;
  #pending: Buffer | null = null;
  /** Null: a head is being read. */
  #bodyLeft: number | null = null;
  #chunks: ChunkFilter | null = null;
  #interim = 0;
  #isOdd = false;
  #oddHead: string | null = null;

  constructor(headBytesMax: number) {
    this.#headBytesMax = headBytesMax;
  }

  /** The connection is not to be used again after this response. */
  get isOdd(): boolean {
    return this.#isOdd;
  }

  /** For the archive: the head of the response as it was received; null: the parser saw it as it is. */
  get oddHead(): string | null {
    return this.#oddHead;
  }

  /** Bytes of a head that has not ended; the caller passes them on when no more come. */
  takePending(): Buffer | null {
    const pending = this.#pending;
    this.#pending = null;
    return pending;
  }

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
      // Longer than a head may be: the parser says so.
      this.#bodyLeft = Infinity;
      return bytes;
    }
    const headEnd = start + end.index + end[0].length;
    const head = filterHead(text.slice(start, headEnd));
    this.#isOdd ||= head.isOdd;
    const rest = bytes.subarray(headEnd);
    const isInterim = head.status >= 100 && head.status < 200 && head.status !== 101;
    if (isInterim && ++this.#interim > INTERIM_MAX) {
      this.#isOdd = true;
      this.#bodyLeft = 0;
      return TOO_MANY_INTERIM;
    }
    if (head.isChunked) this.#chunks = new ChunkFilter();
    if (head.isOdd && !isInterim) {
      this.#oddHead = archivedHead(text.slice(start, headEnd), head.isLengthVoid);
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
      this.#isOdd ||= this.#chunks.isOdd;
      return bytes;
    }
    const left = this.#bodyLeft!;
    if (chunk.length <= left) {
      this.#bodyLeft = left - chunk.length;
      return chunk;
    }
    this.#isOdd = true;
    this.#bodyLeft = 0;
    return left === 0 ? null : chunk.subarray(0, left);
  }
}

/**
 * Filters what the socket receives for this request. To be called in the request's `socket` event,
 * when Node's parser listens and nothing has been read.
 *
 * @param parts.onOdd - called before the parser sees a response after which the connection is not
 *   to be used again
 * @returns null where nothing is filtered
 */
export function filterResponse(
  socket: Socket,
  headBytesMax: number,
  { request, onOdd }: { readonly request: ClientRequest; readonly onOdd: () => void },
): ResponseFilter | null {
  const [parse, ...others] = socket.listeners('data') as ((chunk: Buffer) => void)[];
  // Another Node may read in another way: then its parser decides alone.
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
  // Comes before a kept connection is free for the next request.
  request.once('close', () => {
    socket.off('data', onData);
    socket.off('end', onEnd);
  });
  return filter;
}
