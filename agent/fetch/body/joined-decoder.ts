/**
 * A stream over data that is coded in parts one after another, each of which has a decoder of its
 * own: members of gzip, frames of zstd. The decoders pause while the reader does not read.
 */

import { Transform } from 'node:stream';

export abstract class JoinedDecoder<D extends Transform> extends Transform {
  #decoder: D | null = null;
  /** Its input is over. */
  #ending: D | null = null;

  /** Of the part that is being decoded; null: none is. */
  protected get decoder(): D | null {
    return this.#decoder;
  }

  /** @param seen - told of the decoded bytes before they are passed on */
  protected begin(decoder: D, seen: (bytes: Uint8Array) => void = () => {}): D {
    decoder.on('data', (bytes: Uint8Array) => {
      seen(bytes);
      if (!this.push(bytes)) decoder.pause();
    });
    decoder.on('error', (error) => this.destroy(error));
    this.#decoder = decoder;
    return decoder;
  }

  /** The part is over, and has been passed on. */
  protected leave(): void {
    this.#decoder?.destroy();
    this.#decoder = null;
  }

  /** @param done - called when all of the part has been passed on */
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
