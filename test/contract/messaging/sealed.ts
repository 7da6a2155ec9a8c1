// Frames as a stranger would make them who knows the format (adr/0008), whatever they hold: written
// here a second time, so that tests of what is refused do not take the product's own word for it.

import { crc32 } from 'node:zlib';

const version = 10;

/** Puts magic, version, encoding and a right checksum before the body. */
export function sealed(body: string | Uint8Array, encoding = 0, wireVersion = version): Buffer {
  const head = Buffer.from([0x55, 0x42, wireVersion, encoding]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(Buffer.concat([head, Buffer.from(body)])));
  return Buffer.concat([head, checksum, Buffer.from(body)]);
}
