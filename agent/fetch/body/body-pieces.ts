/**
 * The bytes of a body, in the pieces in which they arrived. A piece is an object and keeps the
 * whole buffer of which it is a part: a million one-byte pieces would hold hundreds of megabytes.
 * So runs of small pieces are copied together, and the memory is proportional to the bytes.
 */

/** Bytes. Larger pieces are kept as they are; those of ordinary bodies have 16 to 64 KiB. */
const SMALL_BYTES = 4096;
/** A piece with a smaller share of its buffer counts as small. */
const BUFFER_SHARE_MIN = 1 / 8;
/** A run of small pieces is copied together when it exceeds one of these limits. */
const RUN_PIECES_MAX = 256;
const RUN_BUFFER_BYTES_MAX = 256 * 1024;

export class BodyPieces {
  #pieces: Uint8Array[] = [];
  /** Small pieces at the end of {@link #pieces}, and the size of their buffers. */
  #runPieces = 0;
  #runBufferBytes = 0;

  /** Number of pieces held. */
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

  /** Removes and returns the pieces so far, in order. */
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
