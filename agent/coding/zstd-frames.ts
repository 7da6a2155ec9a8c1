/**
 * Decodes zstd data of any number of frames (RFC 8878, section 3.1), including skippable ones.
 * Node's decoder stops after the first frame and accepts the rest without decoding it. This stream
 * finds the end of each frame from the sizes in its headers and gives each frame its own decoder.
 * Bytes after the last frame that do not begin a frame are dropped, as after gzip data.
 */

import type { TransformCallback } from 'node:stream';
import zlib, { type ZstdDecompress, type ZstdOptions } from 'node:zlib';
import { JoinedDecoder } from './joined-decoder.ts';

const FRAME_MAGIC = 0xfd2fb528;
/** The lowest four bits vary. */
const SKIPPABLE_MAGIC = 0x184d2a50;
const DICTIONARY_BYTES = [0, 1, 2, 4] as const;
const CONTENT_SIZE_BYTES = [0, 2, 4, 8] as const;
/** Limit on the frames. Each costs a decoder, and no real page has more. */
const FRAMES_MAX = 256;
const RLE_BLOCK = 1;
const RESERVED_BLOCK = 3;

/** Bytes of the current frame. `ends`: they complete it. */
interface Piece {
  readonly bytes: Uint8Array;
  readonly ends: boolean;
}

type State = 'magic' | 'descriptor' | 'block' | 'skip' | 'garbage' | 'damaged';

/** Finds the ends of the frames. */
class ZstdWalk {
  #state: State = 'magic';
  /** The beginning of a header that is not complete. */
  held = new Uint8Array(0);
  /** Bytes to pass on or skip before the next header. */
  #ahead = 0;
  #isSkipping = false;
  /** The frame ends after {@link #ahead}. */
  #isLast = false;
  #checksumBytes = 0;
  /** Completed frames, including skippable ones. */
  frames = 0;

  /** Whether the data may end here. */
  get isBetweenFrames(): boolean {
    const isAtStart = this.#state === 'magic' && this.#ahead === 0;
    return this.#state === 'garbage' || (isAtStart && (this.frames > 0 || this.held.length === 0));
  }

  push(chunk: Uint8Array): Piece[] {
    const pieces: Piece[] = [];
    let rest = chunk;
    while (rest.length > 0 && this.#state !== 'garbage') {
      if (this.#state === 'damaged') {
        pieces.push({ bytes: rest, ends: false });
        break;
      }
      if (this.#ahead > 0) {
        const bytes = rest.subarray(0, this.#ahead);
        rest = rest.subarray(bytes.length);
        this.#ahead -= bytes.length;
        const ends = this.#isLast && this.#ahead === 0;
        if (!this.#isSkipping) pieces.push({ bytes, ends });
        if (this.#ahead === 0) this.#isSkipping = false;
        if (ends) this.#begin();
        continue;
      }
      const missing = HEADER_BYTES[this.#state] - this.held.length;
      const taken = rest.subarray(0, missing);
      rest = rest.subarray(taken.length);
      this.held = Buffer.concat([this.held, taken]);
      if (taken.length === missing) this.#header(pieces);
    }
    return pieces;
  }

  #begin(): void {
    this.frames++;
    this.#state = 'magic';
    this.#isLast = false;
  }

  #header(pieces: Piece[]): void {
    const header = Buffer.from(this.held);
    const state = this.#state;
    this.held = new Uint8Array(0);
    if (state === 'magic') {
      const magic = header.readUInt32LE(0);
      if (magic === FRAME_MAGIC) this.#state = 'descriptor';
      else if ((magic & ~0xf) === SKIPPABLE_MAGIC) this.#state = 'skip';
      // After no earlier frame, the decoder reports that the data is not zstd.
      else this.#state = this.frames > 0 ? 'garbage' : 'damaged';
      if (this.#state === 'skip' || this.#state === 'garbage') return;
    } else if (state === 'skip') {
      this.#ahead = header.readUInt32LE(0);
      this.#isSkipping = this.#ahead > 0;
      this.#begin();
      return;
    } else if (state === 'descriptor') {
      const flags = header[0]!;
      const isSingle = (flags & 0x20) !== 0;
      const sizeBytes = CONTENT_SIZE_BYTES[(flags >> 6) as 0 | 1 | 2 | 3] || (isSingle ? 1 : 0);
      this.#ahead = (isSingle ? 0 : 1) + DICTIONARY_BYTES[(flags & 3) as 0 | 1 | 2 | 3] + sizeBytes;
      this.#checksumBytes = (flags & 0x04) !== 0 ? 4 : 0;
      this.#state = 'block';
    } else if (state === 'block') {
      const block = header.readUIntLE(0, 3);
      const type = (block >> 1) & 3;
      this.#isLast = (block & 1) !== 0;
      this.#ahead = type === RLE_BLOCK ? 1 : block >> 3;
      if (this.#isLast) this.#ahead += this.#checksumBytes;
      if (type === RESERVED_BLOCK) this.#state = 'damaged';
    }
    const ends = this.#isLast && this.#ahead === 0;
    pieces.push({ bytes: header, ends });
    if (ends) this.#begin();
  }
}

const HEADER_BYTES = { magic: 4, skip: 4, descriptor: 1, block: 3 } as const satisfies Partial<
  Record<State, number>
>;

/** A stream that undoes the content coding `zstd`. */
export class ZstdFrames extends JoinedDecoder<ZstdDecompress> {
  readonly #options: ZstdOptions;
  readonly #walk = new ZstdWalk();

  /** @param options for the decoder of each frame */
  constructor(options: ZstdOptions) {
    super();
    this.#options = options;
  }

  override _transform(chunk: Uint8Array, _: BufferEncoding, done: TransformCallback): void {
    this.#take(this.#walk.push(chunk), done);
  }

  override _flush(done: TransformCallback): void {
    // The decoder of an incomplete frame reports that the data is cut.
    if (this.#walk.isBetweenFrames) return done();
    this.#current().write(this.#walk.held);
    this.finish(done);
  }

  #take(pieces: readonly Piece[], done: TransformCallback): void {
    const [piece, ...rest] = pieces;
    if (piece === undefined) return done();
    if (this.#walk.frames >= FRAMES_MAX) return done(new Error('too many zstd frames'));
    this.#current().write(piece.bytes, () => {
      if (piece.ends) this.finish(() => this.#take(rest, done));
      else this.#take(rest, done);
    });
  }

  #current(): ZstdDecompress {
    return this.decoder ?? this.begin(zlib.createZstdDecompress(this.#options));
  }
}
