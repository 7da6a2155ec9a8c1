/**
 * A stream that decodes consecutive parts, each with its own decoder: gzip members or zstd frames.
 * The decoders pause while the reader does not read.
 */

import { Transform } from 'node:stream';

export abstract class JoinedDecoder<D extends Transform> extends Transform {
  #decoder: D | null = null;
  /** The decoder whose input has ended and whose output has not. */
  #ending: D | null = null;

  /** Decoder of the current part; null: between parts. */
  protected get decoder(): D | null {
    return this.#decoder;
  }

  /** @param seen called with decoded bytes before they are passed on */
  protected begin(decoder: D, seen: (bytes: Uint8Array) => void = () => {}): D {
    decoder.on('data', (bytes: Uint8Array) => {
      seen(bytes);
      if (!this.push(bytes)) decoder.pause();
    });
    decoder.on('error', (error) => this.destroy(error));
    this.#decoder = decoder;
    return decoder;
  }

  /** Ends the current part, whose output has been passed on. */
  protected leave(): void {
    this.#decoder?.destroy();
    this.#decoder = null;
  }

  /** @param done called when all output of the part has been passed on */
  protected finish(done: () => void): void {
    const decoder = this.#decoder!;
    this.#decoder = null;
    this.#ending = decoder;
    decoder.once('end', () => {
      this.#ending = null;
      done();
    });
    decoder.end();
  }

  override _read(size: number): void {
    this.#decoder?.resume();
    this.#ending?.resume();
    super._read(size);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#decoder?.destroy();
    this.#ending?.destroy();
    done(error);
  }
}
