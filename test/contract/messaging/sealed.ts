// Makes valid frames (adr/0008) with any content, as a stranger who knows the format could. The
// format is implemented here a second time, so that the tests do not depend on the product's
// encoder.

import { crc32 } from 'node:zlib';

const version = 11;

/** Puts magic, version, encoding and a correct checksum before the body. */
export function sealed(body: string | Uint8Array, encoding = 0, wireVersion = version): Buffer {
  const head = Buffer.from([0x55, 0x42, wireVersion, encoding]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(Buffer.concat([head, Buffer.from(body)])));
  return Buffer.concat([head, checksum, Buffer.from(body)]);
}
