/**
 * Decodes gzip data of any number of members (RFC 1952, section 2.2). Bytes after the last member that
 * begin no member are dropped, as browsers, curl and zcat do. Node's own decoder takes them for a
 * further member, fails, and withholds what it had decoded. The data says itself where it ends, so the
 * trailer of the last member may be missing, or a part of it; browsers and curl read such a body.
 */

import type { TransformCallback } from 'node:stream';
import zlib, { type InflateRaw, type ZlibOptions } from 'node:zlib';
import { JoinedDecoder } from './joined-decoder.ts';

const MAGIC = Buffer.from([0x1f, 0x8b, 8]);
const HEADER_BYTES = 10;
const TRAILER_BYTES = 8;
/** Names and comments are short; whoever sends longer ones wants them to be kept here. */
const HEADER_BYTES_MAX = 64 * 1024;
/** Each member costs a decoder; nobody sends a page in more, but for their cost. */
const MEMBERS_MAX = 1000;
/** Flags of RFC 1952, section 2.3.1. */
const FLAG = { headerChecksum: 2, extra: 4, name: 8, comment: 16 } as const;

/** A stream that undoes the content coding `gzip`. */
export class GzipMembers extends JoinedDecoder<InflateRaw> {
  readonly #options: ZlibOptions;
  #state: 'header' | 'body' | 'trailer' | 'garbage' = 'header';
  /** Bytes of a header or a trailer that is not complete. */
  #held: Buffer = Buffer.alloc(0);
  #members = 0;
  /** Of the member's content. */
  #crc = 0;
  #bytes = 0;

  /** @param options - of each member's decoder */
  constructor(options: ZlibOptions) {
    super();
    this.#options = options;
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    this.#take(chunk, done);
  }

  override _flush(done: TransformCallback): void {
    if (this.#state === 'body') {
      // Without the end of its data the decoder fails; with it only the trailer is missing.
      this.finish(done);
    } else if (this.#members === 0 && this.#held.length > 0) {
      done(damage('unexpected end of file', 'Z_BUF_ERROR'));
    } else done();
  }

  #take(bytes: Buffer, done: TransformCallback): void {
    if (bytes.length === 0 || this.#state === 'garbage') return done();
    if (this.#state === 'body') return this.#inflate(bytes, done);
    const held = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    this.#held = Buffer.alloc(0);
    if (this.#state === 'trailer') return this.#trailer(held, done);
    if (!MAGIC.subarray(0, held.length).equals(held.subarray(0, MAGIC.length))) {
      if (this.#members === 0) return done(damage('incorrect header check', 'Z_DATA_ERROR'));
      this.#state = 'garbage';
      return done();
    }
    const length = headerLength(held);
    if (length === null) {
      if (held.length > HEADER_BYTES_MAX) return done(damage('header too long', 'Z_DATA_ERROR'));
      this.#held = held;
      return done();
    }
    if (++this.#members > MEMBERS_MAX) return done(damage('too many members', 'Z_DATA_ERROR'));
    this.#state = 'body';
    this.#crc = 0;
    this.#bytes = 0;
    this.begin(zlib.createInflateRaw(this.#options), (content) => {
      this.#crc = zlib.crc32(content, this.#crc);
      this.#bytes += content.length;
    });
    this.#take(held.subarray(length), done);
  }

  #inflate(bytes: Buffer, done: TransformCallback): void {
    const decoder = this.decoder!;
    const before = decoder.bytesWritten;
    // It ends by itself at bytes that lie behind its data, and does not say that it took the rest.
    const onEnd = () => {
      this.leave();
      this.#state = 'trailer';
      this.#take(bytes.subarray(decoder.bytesWritten - before), done);
    };
    decoder.once('end', onEnd);
    decoder.write(bytes, (error) => {
      if (error || decoder.bytesWritten - before < bytes.length) return;
      decoder.off('end', onEnd);
      done();
    });
  }

  #trailer(held: Buffer, done: TransformCallback): void {
    if (held.length < TRAILER_BYTES) {
      this.#held = held;
      return done();
    }
    const isWhole =
      held.readUInt32LE(0) === this.#crc && held.readUInt32LE(4) === this.#bytes % 2 ** 32;
    if (!isWhole) return done(damage('incorrect data check', 'Z_DATA_ERROR'));
    this.#state = 'header';
    this.#take(held.subarray(TRAILER_BYTES), done);
  }
}

/** Null: it is not complete. */
function headerLength(bytes: Buffer): number | null {
  if (bytes.length < HEADER_BYTES) return null;
  const flags = bytes[3]!;
  let length = HEADER_BYTES;
  if (flags & FLAG.extra) {
    if (bytes.length < length + 2) return null;
    length += 2 + bytes.readUInt16LE(length);
  }
  for (const flag of [FLAG.name, FLAG.comment]) {
    if (!(flags & flag)) continue;
    const end = bytes.indexOf(0, length);
    if (end < 0) return null;
    length = end + 1;
  }
  if (flags & FLAG.headerChecksum) length += 2;
  return length <= bytes.length ? length : null;
}

/** As Node's decoders put it. */
function damage(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}
