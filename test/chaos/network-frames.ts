// Cuts the byte stream of a ZeroMQ connection (ZMTP 3, RFC 23) into its greeting, its commands and
// its messages, each with its framing, so that a proxy can lose, repeat or reorder whole messages
// and leave what remains a valid stream. Used by `network-proxy.ts`; reads nothing of the contents,
// which `network-callers.ts` does.

export interface Unit {
  /** `message`: one frame that stands alone, as agents send them. `other` must not be touched. */
  readonly kind: 'message' | 'other';
  readonly bytes: Buffer;
}

const greetingBytes = 64;
const more = 0x01;
const long = 0x02;
const command = 0x04;
/** Far above the largest frame of an agent: whoever sends more is no agent. */
const frameBytesMax = 16 * 1024 * 1024;

/**
 * The units of a stream, each as soon as it is whole; of the greeting whatever has come, because
 * both ends wait for the other's first bytes before they send the rest. A stream that ends within
 * a unit ends here without it: half a frame is worth nothing. Throws on a frame of an absurd size.
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

/** What a message says, without its framing. */
export function payloadOf({ bytes }: Unit): Buffer {
  return bytes.subarray(headerSize(bytes));
}

function headerSize(bytes: Buffer): number {
  return (bytes[0]! & long) === 0 ? 2 : 9;
}

/** Of the first frame, header included; null where it is not whole yet. */
function frameSize(bytes: Buffer): number | null {
  if (bytes.length === 0) return null;
  const header = headerSize(bytes);
  if (bytes.length < header) return null;
  const size = header + (header === 9 ? Number(bytes.readBigUInt64BE(1)) : bytes[1]!);
  if (size > frameBytesMax) throw new RangeError(`a frame of ${size} bytes`);
  return bytes.length < size ? null : size;
}
