/**
 * Decodes gzip data that something other than gzip follows. Browsers and curl drop such a tail;
 * Node's decoder takes it for a further member, fails, and withholds what it had decoded. So the
 * body reader comes here with the bytes it has kept. Pure.
 */

import zlib from 'node:zlib';

const HEADER_BYTES = 10;
const TRAILER_BYTES = 8;
/** Flags of RFC 1952, section 2.3.1. */
const FLAG = { headerChecksum: 2, extra: 4, name: 8, comment: 16 } as const;

/**
 * @param wire begins with a gzip header; whatever follows the first member is ignored.
 * @param bytesMax more decoded bytes than this are refused.
 * @returns the first member's content; null if it is damaged, incomplete or larger.
 */
export function gunzipFirstMember(wire: Buffer, bytesMax: number): Buffer | null {
  try {
    const start = headerLength(wire);
    // With `info` Node also returns the engine, which says how much input it took.
    const { buffer, engine } = zlib.inflateRawSync(wire.subarray(start), {
      info: true,
      maxOutputLength: bytesMax,
    }) as unknown as { buffer: Buffer; engine: zlib.InflateRaw };
    const trailer = start + engine.bytesWritten;
    const whole =
      wire.length >= trailer + TRAILER_BYTES &&
      wire.readUInt32LE(trailer) === zlib.crc32(buffer) &&
      wire.readUInt32LE(trailer + 4) === buffer.length;
    return whole ? buffer : null;
  } catch {
    return null;
  }
}

/** @throws RangeError where the header is incomplete. */
function headerLength(wire: Buffer): number {
  const flags = wire.readUInt8(3);
  let length = HEADER_BYTES;
  if (flags & FLAG.extra) {
    length += 2 + wire.readUInt16LE(length);
  }
  for (const flag of [FLAG.name, FLAG.comment]) {
    if (flags & flag) {
      const end = wire.indexOf(0, length);
      if (end < 0) {
        throw new RangeError('gzip header without end');
      }
      length = end + 1;
    }
  }
  return flags & FLAG.headerChecksum ? length + 2 : length;
}
