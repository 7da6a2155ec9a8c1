/**
 * Collects one response body: undoes its content codings as it arrives and stops at the cap, so
 * that neither an endless body nor a decompression bomb costs more than the cap. Which coding is
 * present is believed only when the first byte agrees, because servers that label plain text as
 * gzip are common. `exchange.ts` feeds it and learns the end once.
 */

import type { Transform } from 'node:stream';
import zlib from 'node:zlib';
import { otherWork } from '../../runtime/other-work.ts';
import { BODY_BYTES_FREE, BODY_STEP_BYTES } from './body-budget.ts';
import { BodyPieces } from './body-pieces.ts';
import { GzipMembers } from './gzip-members.ts';
import { ZstdFrames } from './zstd-frames.ts';

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

type Reserve = (bytes: number, onGranted: () => void) => boolean;

/** See the constructor of {@link BodyReader}. */
export interface BodyMemory {
  readonly reserve: Reserve;
  readonly keepsWire: boolean;
}

/** More codings than this on one body are an attack: nobody sends more than two. */
const CODINGS_MAX = 3;
/** Compressed input that yields no output has to end too; honest input is hardly ever larger. */
const WIRE_BYTES_PER_DECODED_BYTE_MAX = 1.125;
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
/** Copied at a time, with the pages that it is copied to: a few milliseconds. */
const JOINED_BYTES_MAX = 4 * 1024 * 1024;
const NO_BYTES = new Uint8Array(0);
/**
 * Coded bytes of gzip that are kept in case that garbage follows them. Pages hardly exceed it; what
 * does is decoded by `GzipMembers` from then on, which costs more and needs nothing kept.
 */
const KEPT_WIRE_BYTES_MAX = 256 * 1024;

export class BodyReader {
  readonly #bytesMax: number;
  readonly #codings: readonly string[];
  readonly #source: BodySource;
  readonly #onEnd: (end: BodyEnd) => void;
  readonly #reserve: Reserve;
  readonly #keepsWire: boolean;
  readonly #pieces = new BodyPieces();
  /** Coded bytes so far, while they may have to be decoded again; else null. */
  #kept: BodyPieces | null = null;
  #decoders: Transform[] | null = null;
  #decoded = 0;
  #received = 0;
  #ended = false;
  #wireEnded = false;
  #decodedAll = false;
  /** Bytes that may be held. */
  #granted = BODY_BYTES_FREE;
  #awaitsMemory = false;

  /**
   * @param contentEncoding the header; unknown codings are taken as none, as browsers do.
   * @param bytesMax cap on the decoded body.
   * @param onEnd called once, never after {@link stop}; synchronously from push or finish where
   * nothing is to be decoded.
   * @param memory `reserve` is asked when more than {@link BODY_BYTES_FREE} are held, and after each
   * {@link BODY_STEP_BYTES}: whether there is memory beyond the bytes that are free. If not, nothing
   * is read or decoded until it calls back. `keepsWire`: somebody else holds what is pushed.
   */
  constructor(
    contentEncoding: string | undefined,
    bytesMax: number,
    source: BodySource,
    onEnd: (end: BodyEnd) => void,
    { reserve, keepsWire }: BodyMemory = { reserve: () => true, keepsWire: false },
  ) {
    this.#codings = knownCodings(contentEncoding);
    this.#kept =
      /gzip$/.test(this.#codings.join()) && this.#codings.length === 1 ? new BodyPieces() : null;
    this.#bytesMax = bytesMax;
    this.#source = source;
    this.#onEnd = onEnd;
    this.#reserve = reserve;
    this.#keepsWire = keepsWire;
  }

  /** Bytes received so far, before decoding. */
  get received(): number {
    return this.#received;
  }

  /** Objects that hold the decoded body. */
  get pieces(): number {
    return this.#pieces.count;
  }

  /** Takes bytes off the wire. */
  push(chunk: Uint8Array): void {
    if (this.#ended) {
      return;
    }
    this.#received += chunk.byteLength;
    this.#decoders ??= this.#startDecoders(chunk);
    const first = this.#decoders[0];
    if (first === undefined) {
      this.#collect(chunk);
    } else if (this.#received > this.#wireBytesMax()) {
      this.#end({ kind: 'cut' });
    } else if (!first.writableEnded && !first.destroyed) {
      this.#kept?.push(chunk);
      if (this.#kept !== null && this.#received > KEPT_WIRE_BYTES_MAX) {
        this.#decodeAgain(this.#kept);
      } else if (!first.write(chunk)) {
        this.#source.pause();
      }
    }
    this.#claim();
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

  /** The decoded body so far, in a buffer of its own, joined in pieces if it is large. */
  async take(): Promise<Uint8Array<ArrayBuffer>> {
    const body = new Uint8Array(this.#decoded);
    const chunks = this.#pieces.take();
    let offset = 0;
    let pieceEnd = JOINED_BYTES_MAX;
    for (const [k, chunk] of chunks.entries()) {
      body.set(chunk, offset);
      offset += chunk.byteLength;
      // Frees the chunk: its bytes are in the joined buffer.
      chunks[k] = NO_BYTES;
      if (offset < pieceEnd) continue;
      pieceEnd = offset + JOINED_BYTES_MAX;
      await otherWork();
    }
    return body;
  }

  #collect(chunk: Uint8Array): void {
    if (this.#ended) {
      return;
    }
    const room = this.#room() - this.#decoded;
    const kept = chunk.byteLength > room ? chunk.subarray(0, room) : chunk;
    this.#pieces.push(kept);
    this.#decoded += kept.byteLength;
    if (kept !== chunk) {
      this.#end({ kind: 'cut' });
    }
    this.#claim();
  }

  #claim(): void {
    if (this.#ended || this.#awaitsMemory) return;
    // What is not coded is held once.
    const isCoded = this.#decoders !== null && this.#decoders.length > 0;
    const held = this.#decoded + (this.#keepsWire && isCoded ? this.#received : 0);
    if (held <= this.#granted) return;
    this.#granted = held + BODY_STEP_BYTES;
    this.#awaitsMemory = true;
    if (this.#reserve(this.#granted - BODY_BYTES_FREE, () => this.#onGranted())) {
      this.#awaitsMemory = false;
      return;
    }
    this.#source.pause();
    this.#decoders?.at(-1)?.pause();
  }

  #onGranted(): void {
    this.#awaitsMemory = false;
    if (this.#ended) return;
    this.#decoders?.at(-1)?.resume();
    if (!this.#decoders?.[0]?.writableNeedDrain) this.#source.resume();
  }

  #resume(): void {
    if (!this.#awaitsMemory) this.#source.resume();
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
    return this.#connected(decoders);
  }

  #connected(decoders: Transform[]): Transform[] {
    decoders.forEach((decoder, index) => {
      decoder.on('error', (error: NodeJS.ErrnoException) => this.#onDamage(error));
      const next = decoders[index + 1];
      if (next !== undefined) {
        this.#boundStage(decoder);
        decoder.pipe(next);
      }
    });
    decoders[0]?.on('drain', () => this.#resume());
    decoders.at(-1)?.on('data', (chunk: Uint8Array) => this.#collect(chunk));
    decoders.at(-1)?.once('end', () => this.#onDecodedAll());
    return decoders;
  }

  /** What is coded further may be no larger than a body of that coding may be on the wire. */
  #boundStage(decoder: Transform): void {
    const bytesMax = this.#wireBytesMax();
    let bytes = 0;
    decoder.on('data', (chunk: Uint8Array) => {
      bytes += chunk.byteLength;
      const credible = this.#received * DECODED_BYTES_PER_WIRE_BYTE_MAX;
      if (bytes > Math.min(bytesMax, Math.max(credible, DECODED_BYTES_FREE))) {
        this.#end({ kind: 'cut' });
      }
    });
  }

  #wireBytesMax(): number {
    return this.#bytesMax * WIRE_BYTES_PER_DECODED_BYTE_MAX + WIRE_BYTES_MIN;
  }

  /** Garbage after the coded data may still be arriving: the message ends the body. */
  #onDecodedAll(): void {
    this.#decodedAll = true;
    this.#resume();
    if (this.#wireEnded) {
      this.#end({ kind: 'whole' });
    }
  }

  /** Node's decoder also fails at garbage after gzip; the other one tells that from damage. */
  #onDamage(error: NodeJS.ErrnoException): void {
    if (this.#ended) return;
    if (this.#kept === null) this.#end(decodingEnd(error));
    else this.#decodeAgain(this.#kept);
  }

  #decodeAgain(wire: BodyPieces): void {
    for (const decoder of this.#decoders ?? []) decoder.destroy();
    this.#kept = null;
    this.#pieces.take();
    this.#decoded = 0;
    const decoder = new GzipMembers({ chunkSize: OUTPUT_CHUNK_BYTES });
    this.#decoders = this.#connected([decoder]);
    if (this.#awaitsMemory) decoder.pause();
    if (decoder.write(Buffer.concat(wire.take()))) this.#resume();
    else this.#source.pause();
    if (this.#wireEnded) decoder.end();
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
      return new ZstdFrames({
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
