/**
 * Collects one response body: undoes its content codings as it arrives and stops at the cap, so
 * that neither an endless body nor a decompression bomb costs more than the cap. Which coding is
 * present is believed only when the first byte agrees, because servers that label plain text as
 * gzip are common. `exchange.ts` feeds it and learns the end once.
 */

import type { Transform } from 'node:stream';
import zlib from 'node:zlib';
import { gunzipFirstMember } from './gzip-first-member.ts';

/** How a body ended: whole, cut at a cap, or broken by damage within the coding. */
export type BodyEnd =
  | { readonly kind: 'whole' }
  | { readonly kind: 'cut' }
  | {
      readonly kind: 'broken';
      readonly code: 'truncated_body' | 'body_encoding';
      readonly message: string;
    };

/** The side of the wire that can be told to wait. */
export interface BodySource {
  pause(): void;
  resume(): void;
}

/** More codings than this on one body are an attack: nobody sends more than two. */
const CODINGS_MAX = 3;
/** Compressed input that yields no output has to end too; honest input is hardly ever larger. */
const WIRE_BYTES_PER_DECODED_BYTE_MAX = 2;
/** Allowance for the headers of a coding, which exceed the rule above in tiny bodies. */
const WIRE_BYTES_MIN = 4096;
/**
 * Beyond the first mebibyte, pages that say something shrink to a hundredth at best; deflate's
 * limit is 1,032, and br and zstd have none. More is a bomb, and is not inflated to the cap.
 */
const DECODED_BYTES_PER_WIRE_BYTE_MAX = 500;
const DECODED_BYTES_FREE = 1024 * 1024;
/** RFC 9659: a decoder of zstd content coding needs no more than 8 MiB of window, 2^23. */
const ZSTD_WINDOW_LOG_MAX = 23;
const OUTPUT_CHUNK_BYTES = 64 * 1024;
/** Coded bytes kept for a second try, should garbage follow them; pages hardly exceed it. */
const KEPT_WIRE_BYTES_MAX = 256 * 1024;

export class BodyReader {
  readonly #bytesMax: number;
  readonly #codings: readonly string[];
  readonly #source: BodySource;
  readonly #onEnd: (end: BodyEnd) => void;
  #chunks: Uint8Array[] = [];
  /** Coded bytes so far, while a second try is possible; else null. */
  #kept: Uint8Array[] | null = null;
  #decoders: Transform[] | null = null;
  #decoded = 0;
  #received = 0;
  #ended = false;
  #wireEnded = false;
  #decodedAll = false;

  /**
   * @param contentEncoding the header; unknown codings are taken as none, as browsers do.
   * @param bytesMax cap on the decoded body.
   * @param onEnd called once, never after {@link stop}; synchronously from push or finish where
   * nothing is to be decoded.
   */
  constructor(
    contentEncoding: string | undefined,
    bytesMax: number,
    source: BodySource,
    onEnd: (end: BodyEnd) => void,
  ) {
    this.#codings = knownCodings(contentEncoding);
    this.#kept = /gzip$/.test(this.#codings.join()) && this.#codings.length === 1 ? [] : null;
    this.#bytesMax = bytesMax;
    this.#source = source;
    this.#onEnd = onEnd;
  }

  /** Bytes received so far, before decoding. */
  get received(): number {
    return this.#received;
  }

  /** Takes bytes off the wire. */
  push(chunk: Uint8Array): void {
    if (this.#ended) {
      return;
    }
    this.#received += chunk.byteLength;
    const wireMax = this.#bytesMax * WIRE_BYTES_PER_DECODED_BYTE_MAX + WIRE_BYTES_MIN;
    this.#decoders ??= this.#startDecoders(chunk);
    const first = this.#decoders[0];
    if (first === undefined) {
      this.#collect(chunk);
    } else if (this.#received > wireMax) {
      this.#end({ kind: 'cut' });
    } else if (!first.writableEnded && !first.destroyed) {
      this.#keep(chunk);
      if (!first.write(chunk)) {
        this.#source.pause();
      }
    }
  }

  /** The wire has delivered the whole message. */
  finish(): void {
    this.#wireEnded = true;
    const first = this.#decoders?.[0];
    if (first === undefined) {
      this.#end({ kind: 'whole' });
    } else if (this.#decodedAll) {
      this.#end({ kind: 'whole' });
    } else {
      first.end();
    }
  }

  /** Frees the decoders; what was collected stays readable. */
  stop(): void {
    this.#ended = true;
    for (const decoder of this.#decoders ?? []) {
      decoder.destroy();
    }
  }

  /** The decoded body so far, in a buffer of its own. */
  take(): Uint8Array<ArrayBuffer> {
    const body = new Uint8Array(this.#decoded);
    let offset = 0;
    for (const chunk of this.#chunks) {
      body.set(chunk, offset);
      offset += chunk.byteLength;
    }
    return body;
  }

  #collect(chunk: Uint8Array): void {
    if (this.#ended) {
      return;
    }
    const room = this.#room() - this.#decoded;
    const kept = chunk.byteLength > room ? chunk.subarray(0, room) : chunk;
    this.#chunks.push(kept);
    this.#decoded += kept.byteLength;
    if (kept !== chunk) {
      this.#end({ kind: 'cut' });
    }
  }

  /** The cap, or what so few bytes may become. */
  #room(): number {
    // Codings on top of one another multiply; then the cap alone bounds them.
    if (this.#decoders?.length !== 1) return this.#bytesMax;
    const credible = this.#received * DECODED_BYTES_PER_WIRE_BYTE_MAX;
    return Math.min(this.#bytesMax, Math.max(credible, DECODED_BYTES_FREE));
  }

  #startDecoders(first: Uint8Array): Transform[] {
    const decoders = this.#codings.flatMap((coding, index) => {
      // Only the outermost coding can be looked at; the others are believed.
      const decoder = createDecoder(coding, index === 0 ? first[0] : undefined);
      return decoder === null ? [] : [decoder];
    });
    decoders.forEach((decoder, index) => {
      decoder.on('error', (error: NodeJS.ErrnoException) => this.#onDamage(error));
      const next = decoders[index + 1];
      if (next !== undefined) {
        decoder.pipe(next);
      }
    });
    decoders[0]?.on('drain', () => this.#source.resume());
    decoders.at(-1)?.on('data', (chunk: Uint8Array) => this.#collect(chunk));
    decoders.at(-1)?.once('end', () => this.#onDecodedAll());
    return decoders;
  }

  /** Garbage after the coded data may still be arriving: the message ends the body. */
  #onDecodedAll(): void {
    this.#decodedAll = true;
    this.#source.resume();
    if (this.#wireEnded) {
      this.#end({ kind: 'whole' });
    }
  }

  #keep(chunk: Uint8Array): void {
    if (this.#received > KEPT_WIRE_BYTES_MAX) {
      this.#kept = null;
    }
    this.#kept?.push(chunk);
  }

  #onDamage(error: NodeJS.ErrnoException): void {
    const kept = error.message === 'incorrect header check' ? this.#kept : null;
    const first = kept && gunzipFirstMember(Buffer.concat(kept), this.#bytesMax);
    if (first === null) {
      this.#end(decodingEnd(error));
    } else if (!this.#ended) {
      this.#chunks = [first];
      this.#decoded = first.byteLength;
      this.#onDecodedAll();
    }
  }

  #end(end: BodyEnd): void {
    if (!this.#ended) {
      this.stop();
      this.#onEnd(end);
    }
  }
}

/** Codings to undo, outermost first. */
function knownCodings(contentEncoding: string | undefined): string[] {
  const names = (contentEncoding ?? '').toLowerCase().split(',');
  const known = names
    .map((name) => name.trim())
    .filter((name) => /^(?:x-)?gzip$|^deflate$|^br$|^zstd$/.test(name));
  return known.toReversed().slice(0, CODINGS_MAX);
}

/** @returns null where the first byte shows that the coding was not applied. */
function createDecoder(coding: string, firstByte: number | undefined): Transform | null {
  const chunkSize = OUTPUT_CHUNK_BYTES;
  switch (coding) {
    case 'br':
      return zlib.createBrotliDecompress({ chunkSize });
    case 'zstd':
      return zlib.createZstdDecompress({
        chunkSize,
        params: { [zlib.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX },
      });
    case 'deflate':
      // RFC 9110 means the zlib format, whose first byte is 0x78 or alike; many send it bare.
      return firstByte === undefined || (firstByte & 0x8f) === 0x08
        ? zlib.createInflate({ chunkSize })
        : zlib.createInflateRaw({ chunkSize });
    default:
      return firstByte === undefined || firstByte === 0x1f
        ? zlib.createGunzip({ chunkSize })
        : null;
  }
}

function decodingEnd(error: NodeJS.ErrnoException): BodyEnd {
  const early = error.code === 'Z_BUF_ERROR' || /unexpected end/i.test(error.message);
  return {
    kind: 'broken',
    code: early ? 'truncated_body' : 'body_encoding',
    message: error.message,
  };
}
