/**
 * Collects one response body. It undoes the content codings as bytes arrive and stops at the limit,
 * so neither an endless body nor a decompression bomb costs more than the limit. A gzip coding is
 * believed only if the first byte agrees, because many servers label plain text as gzip.
 */

import type { Transform } from 'node:stream';
import zlib from 'node:zlib';
import { GzipMembers } from '../../coding/gzip-members.ts';
import { ZstdFrames } from '../../coding/zstd-frames.ts';
import { otherWork } from '../../runtime/other-work.ts';
import { BODY_BYTES_FREE, BODY_STEP_BYTES } from './body-budget.ts';
import { BodyPieces } from './body-pieces.ts';

/** The end of a body: complete, cut at a limit, or damaged within the coding. */
export type BodyEnd =
  | { readonly kind: 'whole' }
  | { readonly kind: 'cut' }
  | {
      readonly kind: 'broken';
      readonly code: 'truncated_body' | 'body_encoding';
      readonly message: string;
    };

/** The connection, which can be paused. */
interface BodySource {
  pause(): void;
  resume(): void;
}

type Reserve = (bytes: number, onGranted: () => void) => boolean;

/** See the constructor of {@link BodyReader}. */
export interface BodyMemory {
  readonly reserve: Reserve;
  readonly keepsWire: boolean;
}

/** Codings undone on one body. Nobody sends more than two, so more are an attack. */
const CODINGS_MAX = 3;
/** Limits coded input that yields no output. Honest input is hardly ever larger. */
const WIRE_BYTES_PER_DECODED_BYTE_MAX = 1.125;
/** Bytes: allowance for the headers of a coding, which exceed the ratio above in tiny bodies. */
const WIRE_BYTES_MIN = 4096;
/**
 * Limits on expansion beyond the first mebibyte. Real pages shrink to a hundredth at best. The
 * maximum of deflate is 1,032; br and zstd have none. A higher ratio is a bomb and is not inflated
 * up to the body limit.
 */
const DECODED_BYTES_PER_WIRE_BYTE_MAX = 500;
const DECODED_BYTES_FREE = 1024 * 1024;
/** log2 of the window limit, 8 MiB (RFC 9659): zstd content coding needs no more. */
const ZSTD_WINDOW_LOG_MAX = 23;
const OUTPUT_CHUNK_BYTES = 64 * 1024;
/**
 * Bytes copied in one turn of the event loop, with the page faults of the target: a few
 * milliseconds.
 */
const JOINED_BYTES_MAX = 4 * 1024 * 1024;
const NO_BYTES = new Uint8Array(0);
/**
 * Limit on the coded bytes of gzip that are kept in case garbage follows them. Pages hardly exceed
 * it. Beyond it `GzipMembers` decodes, which costs more but keeps nothing.
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
  /** Coded bytes so far, while they may have to be decoded again; otherwise null. */
  #kept: BodyPieces | null = null;
  #decoders: Transform[] | null = null;
  #decoded = 0;
  #received = 0;
  #ended = false;
  #wireEnded = false;
  #decodedAll = false;
  /** Bytes that the body may hold now. */
  #granted = BODY_BYTES_FREE;
  #awaitsMemory = false;

  /**
   * @param contentEncoding the header; unknown codings are ignored, as in browsers.
   * @param bytesMax limit on the decoded body.
   * @param onEnd called once, never after {@link stop}; synchronously from `push` or `finish` if
   * nothing is decoded.
   * @param memory `reserve` is called when the body holds more than {@link BODY_BYTES_FREE}, and
   * again after each {@link BODY_STEP_BYTES}. If it returns false, nothing is read or decoded until
   * it calls back. `keepsWire`: the caller keeps the received bytes, so they count as well.
   */
  constructor(
    contentEncoding: string | undefined,
    bytesMax: number,
    source: BodySource,
    onEnd: (end: BodyEnd) => void,
    { reserve, keepsWire }: BodyMemory = { reserve: () => true, keepsWire: false },
  ) {
    this.#codings = knownCodings(contentEncoding);
    const isGzip = this.#codings.length === 1 && this.#codings[0]!.endsWith('gzip');
    this.#kept = isGzip ? new BodyPieces() : null;
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

  /** Number of objects that hold the decoded body. */
  get pieces(): number {
    return this.#pieces.count;
  }

  /** Adds received bytes. */
  push(chunk: Uint8Array): void {
    if (this.#ended) return;
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

  /** The whole message has been received. */
  finish(): void {
    this.#wireEnded = true;
    const first = this.#decoders?.[0];
    if (first === undefined || this.#decodedAll) this.#end({ kind: 'whole' });
    else first.end();
  }

  /** Frees the decoders. The collected bytes stay readable. */
  stop(): void {
    this.#ended = true;
    for (const decoder of this.#decoders ?? []) decoder.destroy();
  }

  /**
   * Removes and returns the decoded body so far, in its own buffer. A large body is copied in
   * several turns of the event loop.
   */
  async take(): Promise<Uint8Array<ArrayBuffer>> {
    const body = new Uint8Array(this.#decoded);
    const chunks = this.#pieces.take();
    let offset = 0;
    let pieceEnd = JOINED_BYTES_MAX;
    for (const [k, chunk] of chunks.entries()) {
      body.set(chunk, offset);
      offset += chunk.byteLength;
      // Frees the chunk, which is now copied.
      chunks[k] = NO_BYTES;
      if (offset < pieceEnd) continue;
      pieceEnd = offset + JOINED_BYTES_MAX;
      await otherWork();
    }
    return body;
  }

  #collect(chunk: Uint8Array): void {
    if (this.#ended) return;
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
    // A body without coding exists only once.
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

  /** Limit on the decoded bytes: the body limit or the credible size, whichever is lower. */
  #room(): number {
    // Ratios of stacked codings multiply, so only the body limit applies to them.
    if (this.#decoders?.length !== 1) return this.#bytesMax;
    return Math.min(this.#bytesMax, this.#credibleBytes());
  }

  /** The size that a single coding may give the received bytes. */
  #credibleBytes(): number {
    return Math.max(this.#received * DECODED_BYTES_PER_WIRE_BYTE_MAX, DECODED_BYTES_FREE);
  }

  #startDecoders(first: Uint8Array): Transform[] {
    const decoders = this.#codings.flatMap((coding, index) => {
      // Only the outermost coding can be checked; the others are believed.
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

  /**
   * Limits the output of an inner stage: it may be no larger than a coded body may be when
   * received.
   */
  #boundStage(decoder: Transform): void {
    const bytesMax = this.#wireBytesMax();
    let bytes = 0;
    decoder.on('data', (chunk: Uint8Array) => {
      bytes += chunk.byteLength;
      if (bytes > Math.min(bytesMax, this.#credibleBytes())) this.#end({ kind: 'cut' });
    });
  }

  #wireBytesMax(): number {
    return this.#bytesMax * WIRE_BYTES_PER_DECODED_BYTE_MAX + WIRE_BYTES_MIN;
  }

  /** Garbage may follow the coded data, so the body ends with the message. */
  #onDecodedAll(): void {
    this.#decodedAll = true;
    this.#resume();
    if (this.#wireEnded) {
      this.#end({ kind: 'whole' });
    }
  }

  /**
   * Node's decoder also fails on garbage after gzip data. `GzipMembers` distinguishes it from
   * damage.
   */
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

/** @returns the codings to undo, outermost first. */
function knownCodings(contentEncoding: string | undefined): string[] {
  const names = (contentEncoding ?? '').toLowerCase().split(',');
  const known = names
    .map((name) => name.trim())
    .filter((name) => /^(?:x-)?gzip$|^deflate$|^br$|^zstd$/.test(name));
  return known.toReversed().slice(0, CODINGS_MAX);
}

/** @returns null if the first byte shows that the body is not coded. */
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
      // RFC 9110 means the zlib format, whose first byte is 0x78 or similar. Many servers send raw
      // deflate data.
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
