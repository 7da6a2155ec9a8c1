/**
 * The bytes of a body in the pieces in which they came, held in memory in proportion to the bytes.
 * Each piece is an object, and keeps the whole buffer that it is a part of: a million pieces of one
 * byte would hold hundreds of megabytes. So runs of small pieces are copied together. Used by
 * `body-reader.ts` and `exchange.ts`.
 */

/** Larger pieces stay as they are; those of ordinary bodies have 16 to 64 KiB. */
const SMALL_BYTES = 4096;
/** A piece that is a smaller part of its buffer counts as small. */
const BUFFER_SHARE_MIN = 1 / 8;
/** A run of small pieces is copied together when it exceeds one of these. */
const RUN_PIECES_MAX = 256;
const RUN_BUFFER_BYTES_MAX = 256 * 1024;

export class BodyPieces {
  #pieces: Uint8Array[] = [];
  /** Small pieces at the end of {@link #pieces}, and the buffers that they keep. */
  #runPieces = 0;
  #runBufferBytes = 0;

  /** Objects held. */
  get count(): number {
    return this.#pieces.length;
  }

  push(piece: Uint8Array): void {
    if (piece.byteLength === 0) return;
    const before = this.#runPieces === 0 ? undefined : this.#pieces.at(-1);
    this.#pieces.push(piece);
    const bufferBytes = piece.buffer.byteLength;
    if (piece.byteLength >= SMALL_BYTES && piece.byteLength >= bufferBytes * BUFFER_SHARE_MIN) {
      this.#runPieces = 0;
      this.#runBufferBytes = 0;
      return;
    }
    this.#runPieces++;
    if (before?.buffer !== piece.buffer) this.#runBufferBytes += bufferBytes;
    if (this.#runPieces > RUN_PIECES_MAX || this.#runBufferBytes > RUN_BUFFER_BYTES_MAX) {
      this.#joinRun();
    }
  }

  /** The pieces so far, in order; nothing is held afterwards. */
  take(): Uint8Array[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#runPieces = 0;
    this.#runBufferBytes = 0;
    return pieces;
  }

  #joinRun(): void {
    const run = this.#pieces.splice(-this.#runPieces);
    const whole = new Uint8Array(run.reduce((sum, { byteLength }) => sum + byteLength, 0));
    let offset = 0;
    for (const piece of run) {
      whole.set(piece, offset);
      offset += piece.byteLength;
    }
    this.#pieces.push(whole);
    this.#runPieces = 0;
    this.#runBufferBytes = 0;
  }
}
