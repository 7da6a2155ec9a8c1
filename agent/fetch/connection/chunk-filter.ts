/**
 * Rewrites a chunked body (RFC 9112, section 7.1) into the form that Node's strict parser accepts:
 * a number and CRLF before each chunk, and no trailers. It accepts what browsers and curl accept:
 * lines that end in LF alone, whitespace after a size, any extension, any trailer. Bytes after the
 * end of the body never reach the parser. Small chunks of one read are joined, because the parser,
 * the streams and the body pay for each chunk. A read that needs no change is passed on without a
 * copy.
 */

import { joinSmallChunks } from './small-chunks.ts';

/** Limit on the characters of a size line with its extension, and of all trailers together. */
const LINE_CHARS_MAX = 16 * 1024;
/**
 * Limits on the framing of one body: sizes, extensions, line ends and trailers. A chunk of one byte
 * needs five framing bytes. More than the limits is a flood, and the filter makes the parser refuse
 * it.
 */
const FRAMING_BYTES_FREE = 1024 * 1024;
const FRAMING_BYTES_PER_DATA_BYTE_MAX = 8;
/** Not a valid size, so the parser refuses it. */
const FRAMING_FLOOD = Buffer.from('more chunk framing than data\r\n', 'latin1');
const STRICT_SIZE = /^[0-9a-fA-F]{1,13}\r\n$/;
/** No body has more bytes than thirteen digits can express. */
const SIZE = /^([0-9a-fA-F]{1,13})[ \t]*(?:;.*)?\r?\n$/s;
const EXTENDED_SIZE = /^[0-9a-fA-F]{1,13}(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n$/;
const TRAILER = /^(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*)?\r\n$/;
const LF = 0x0a;

export class ChunkFilter {
  /** `broken`: the framing is invalid here. The parser gets all further bytes and refuses them. */
  #state: 'size' | 'data' | 'data-end' | 'trailer' | 'over' | 'broken' = 'size';
  #dataLeft = 0;
  /** The beginning of a line that is not complete. */
  #line = '';
  #trailerChars = 0;
  #dataBytes = 0;
  #framingBytes = 0;
  /** The body was not in its strict form, or bytes followed it. */
  isOdd = false;

  /** @returns the bytes for the parser; null: none yet. */
  push(chunk: Buffer): Buffer | null {
    const parts: Buffer[] = [];
    let isSame = this.#line === '';
    for (let at = 0; at < chunk.length; ) {
      if (this.#state === 'over') {
        this.isOdd = true;
        isSame = false;
        break;
      }
      if (this.#state === 'data' || this.#state === 'broken') {
        const bytes = chunk.subarray(at, this.#state === 'data' ? at + this.#dataLeft : undefined);
        at += bytes.length;
        this.#dataBytes += bytes.length;
        this.#dataLeft -= bytes.length;
        if (this.#state === 'data' && this.#dataLeft === 0) this.#state = 'data-end';
        parts.push(bytes);
        continue;
      }
      const joined = this.#line === '' && this.#state === 'size' ? this.#join(chunk, at) : null;
      if (joined !== null) {
        at = joined.end;
        isSame = false;
        parts.push(joined.chunk);
        if (!this.#hasCredibleFraming()) return this.#refuseFlood(parts);
        continue;
      }
      const lf = chunk.indexOf(LF, at);
      const end = lf < 0 ? chunk.length : lf + 1;
      const line = this.#line + chunk.toString('latin1', at, end);
      this.#framingBytes += end - at;
      at = end;
      if (!this.#hasCredibleFraming()) return this.#refuseFlood(parts);
      const isCut = lf < 0 && line.length <= LINE_CHARS_MAX;
      this.#line = isCut ? line : '';
      const strict = isCut ? '' : this.#strict(line);
      if (strict !== line) isSame = false;
      if (strict !== '') parts.push(Buffer.from(strict, 'latin1'));
    }
    if (isSame) return chunk;
    return parts.length === 0 ? null : Buffer.concat(parts);
  }

  #join(chunk: Buffer, at: number) {
    const joined = joinSmallChunks(chunk, at);
    if (joined === null) return null;
    this.#dataBytes += joined.dataBytes;
    this.#framingBytes += joined.end - at - joined.dataBytes;
    this.isOdd ||= joined.isOdd;
    return joined;
  }

  #hasCredibleFraming(): boolean {
    const bytesMax = FRAMING_BYTES_FREE + this.#dataBytes * FRAMING_BYTES_PER_DATA_BYTE_MAX;
    return this.#framingBytes <= bytesMax;
  }

  /** Makes the parser refuse the body, whatever the state of the filter. */
  #refuseFlood(parts: readonly Buffer[]): Buffer {
    this.#state = 'broken';
    this.#line = '';
    this.isOdd = true;
    return Buffer.concat([...parts, FRAMING_FLOOD]);
  }

  /** @returns the line in its strict form; empty if the parser does not need it. */
  #strict(line: string): string {
    switch (this.#state) {
      case 'size':
        return this.#size(line);
      case 'data-end':
        if (!/^\r?\n$/.test(line)) return this.#break(line);
        if (line === '\n') this.isOdd = true;
        this.#state = 'size';
        return '\r\n';
      default:
        return this.#trailer(line);
    }
  }

  #size(line: string): string {
    const digits = SIZE.exec(line)?.[1];
    if (digits === undefined) return this.#break(line);
    if (!EXTENDED_SIZE.test(line)) this.isOdd = true;
    this.#dataLeft = Number.parseInt(digits, 16);
    this.#state = this.#dataLeft === 0 ? 'trailer' : 'data';
    return STRICT_SIZE.test(line) ? line : `${digits}\r\n`;
  }

  #trailer(line: string): string {
    this.#trailerChars += line.length;
    if (this.#trailerChars > LINE_CHARS_MAX) return this.#break(line);
    if (!TRAILER.test(line)) this.isOdd = true;
    if (!/^\r?\n$/.test(line)) return '';
    this.#state = 'over';
    return '\r\n';
  }

  #break(line: string): string {
    this.#state = 'broken';
    this.isOdd = true;
    return line;
  }
}
