/**
 * Decodes gzip data of any number of members (RFC 1952, section 2.2). Bytes after the last member
 * that do not begin a member are dropped, as in browsers, curl and zcat. Node's own decoder takes
 * them for another member, fails, and withholds what it had decoded. Deflate data marks its own
 * end, so the trailer of the last member may be missing or cut, as in browsers and curl.
 */

import type { TransformCallback } from 'node:stream';
import zlib, { type InflateRaw, type ZlibOptions } from 'node:zlib';
import { JoinedDecoder } from './joined-decoder.ts';

const MAGIC = Buffer.from([0x1f, 0x8b, 8]);
const HEADER_BYTES = 10;
const TRAILER_BYTES = 8;
/** Limit on a header in bytes. Real names and comments are short; longer ones are an attack. */
const HEADER_BYTES_MAX = 64 * 1024;
/** Limit on the members. Each costs a decoder, and no real page has more. */
const MEMBERS_MAX = 1000;
/** Header flags (RFC 1952, section 2.3.1). */
const FLAG = { headerChecksum: 2, extra: 4, name: 8, comment: 16 } as const;

/** A stream that undoes the content coding `gzip`. */
export class GzipMembers extends JoinedDecoder<InflateRaw> {
  readonly #options: ZlibOptions;
  #state: 'header' | 'body' | 'trailer' | 'garbage' = 'header';
  /** The beginning of a header or trailer that is not complete. */
  #held: Buffer = Buffer.alloc(0);
  #members = 0;
  /** Checksum and size of the current member's content. */
  #crc = 0;
  #bytes = 0;

  /** @param options for the decoder of each member */
  constructor(options: ZlibOptions) {
    super();
    this.#options = options;
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    this.#take(chunk, done);
  }

  override _flush(done: TransformCallback): void {
    if (this.#state === 'body') {
      // If the deflate data is cut, the decoder fails; if not, only the trailer is missing.
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
    // The decoder ends by itself if bytes follow its data, and does not confirm the write.
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

/** @returns null if the header is not complete. */
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

/** An error with the messages and codes of Node's decoders. */
function damage(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}
