// Splits the byte stream of a ZeroMQ connection (ZMTP 3, RFC 23) into its greeting, commands and
// messages, each with its framing. So a proxy can lose, repeat or reorder whole messages and keep
// the stream valid. `network-callers.ts` reads the contents.

export interface Unit {
  /** `message`: a single frame, as agents send them. `other` must not be changed. */
  readonly kind: 'message' | 'other';
  readonly bytes: Buffer;
}

const greetingBytes = 64;
const more = 0x01;
const long = 0x02;
const command = 0x04;
/** Far above the largest frame of an agent. A larger frame comes from no agent. */
const frameBytesMax = 16 * 1024 * 1024;

/**
 * Yields each unit of a stream as soon as it is complete. Bytes of the greeting are passed on at
 * once, because each end waits for the first bytes of the other before it sends the rest. An
 * incomplete unit at the end of the stream is dropped. Throws on a frame of absurd size.
 */
export async function* unitsOf(stream: AsyncIterable<Buffer>): AsyncGenerator<Unit> {
  let held: Buffer = Buffer.alloc(0);
  let greetingLeft = greetingBytes;
  for await (const chunk of stream) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    if (greetingLeft > 0) {
      const part = held.subarray(0, greetingLeft);
      greetingLeft -= part.length;
      held = held.subarray(part.length);
      yield { kind: 'other', bytes: part };
    }
    for (let size = frameSize(held); size !== null; size = frameSize(held)) {
      const kind = (held[0]! & (command | more)) === 0 ? 'message' : 'other';
      yield { kind, bytes: held.subarray(0, size) };
      held = held.subarray(size);
    }
  }
}

/** The contents of a message, without its framing. */
export function payloadOf({ bytes }: Unit): Buffer {
  return bytes.subarray(headerSize(bytes));
}

function headerSize(bytes: Buffer): number {
  return (bytes[0]! & long) === 0 ? 2 : 9;
}

/** Size of the first frame, header included; null if it is not complete yet. */
function frameSize(bytes: Buffer): number | null {
  if (bytes.length === 0) return null;
  const header = headerSize(bytes);
  if (bytes.length < header) return null;
  const size = header + (header === 9 ? Number(bytes.readBigUInt64BE(1)) : bytes[1]!);
  if (size > frameBytesMax) throw new RangeError(`a frame of ${size} bytes`);
  return bytes.length < size ? null : size;
}
