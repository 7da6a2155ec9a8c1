// A client of server-sent events. A client that accepts gzip gets one gzip stream (RFC 1952), which does
// not end. A message for many clients is compressed once, into blocks that refer to no earlier ones.
// Texts for one client are sent as blocks without compression (RFC 1951, section 3.2.4).

import type { ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { constants, deflateRaw } from 'node:zlib';
import { monotonicMs } from '../../runtime/clock.ts';

const compress = promisify(deflateRaw);

/** Deflate, without a name or time, of an unknown system. */
const GZIP_START = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
const STORED_BYTES_MAX = 0xffff;
/** Type 0, not the last block, and the bits until the next byte. */
const STORED = 0;

/** A message that many clients get. */
export interface SharedMessage {
  readonly plain: Buffer;
  readonly packed: Buffer;
}

export interface StreamOptions {
  /** The client accepts gzip. */
  readonly isGzip?: boolean;
  /** It is sent the state of the cluster, too. */
  readonly hasState?: boolean;
}

export class StreamClient {
  readonly hasState: boolean;
  /** Monotonic milliseconds. */
  writtenAt = monotonicMs();
  readonly #response: ServerResponse;
  readonly #isGzip: boolean;
  /** By kind: the last one that it was sent. */
  readonly #sent = new Map<string, SharedMessage>();
  #stateBytes = 0;

  constructor(response: ServerResponse, { isGzip = false, hasState = false }: StreamOptions) {
    this.#response = response;
    this.#isGzip = isGzip;
    this.hasState = hasState;
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      // nginx would keep the messages until it has many of them.
      'x-accel-buffering': 'no',
      ...(isGzip && { 'content-encoding': 'gzip', vary: 'accept-encoding' }),
    });
    if (isGzip) response.write(GZIP_START);
  }

  /** Without the last state. */
  get unreadEventBytes(): number {
    return this.#response.writableLength - this.#stateBytes;
  }

  write(text: string): void {
    this.writtenAt = monotonicMs();
    this.#response.write(this.#isGzip ? storedBlocks(Buffer.from(text)) : text);
  }

  /** Sends it unless the client has it, or has not yet read the one before it. */
  offer(kind: string, message: SharedMessage): void {
    if (this.#sent.get(kind) === message || this.#response.writableLength > 0) return;
    this.#sent.set(kind, message);
    this.writtenAt = monotonicMs();
    const bytes = this.#isGzip ? message.packed : message.plain;
    this.#stateBytes = bytes.length;
    this.#response.write(bytes);
  }

  /** Ends the stream with this message. Resolves once it is sent, or the client has gone. */
  end({ packed, plain }: SharedMessage): Promise<void> {
    return new Promise((resolve) => {
      this.#response.once('close', resolve);
      this.#response.end(this.#isGzip ? packed : plain, resolve);
    });
  }

  destroy(): void {
    this.#response.destroy();
  }
}

/** @param json - without line breaks */
export async function sharedMessage(event: string, json: Buffer): Promise<SharedMessage> {
  const plain = Buffer.concat([Buffer.from(`event: ${event}\ndata: `), json, Buffer.from('\n\n')]);
  return { plain, packed: await compress(plain, { finishFlush: constants.Z_SYNC_FLUSH }) };
}

function storedBlocks(bytes: Buffer): Buffer {
  const blocks: Buffer[] = [];
  for (let from = 0; from < bytes.length; from += STORED_BYTES_MAX) {
    const part = bytes.subarray(from, from + STORED_BYTES_MAX);
    const head = Buffer.alloc(5, STORED);
    head.writeUInt16LE(part.length, 1);
    head.writeUInt16LE(STORED_BYTES_MAX - part.length, 3);
    blocks.push(head, part);
  }
  return Buffer.concat(blocks);
}
