// What browsers do not read and crawlers may: UTF-32, and UTF-16 the other way round than its header
// says. The Encoding Standard leaves UTF-32 out because scripts can hide in it, and takes UTF-16
// without a mark for little-endian; nothing here runs scripts, and text read the wrong way has no
// link at all. Both are told by bytes that mean nothing in any other encoding. Used by charset.ts.

/** As much of a document as tells which way round its UTF-16 is. */
const ORDER_BYTES_MAX = 1024;

/**
 * By the byte order mark alone. `FF FE 00 00` is UTF-16 to a browser, with U+0000 as the first
 * character: a document that no one writes.
 */
export function utf32Mark(body: Uint8Array): 'utf-32be' | 'utf-32le' | null {
  const [a, b, c, d] = body;
  if (a === 0 && b === 0 && c === 0xfe && d === 0xff) return 'utf-32be';
  return a === 0xff && b === 0xfe && c === 0 && d === 0 ? 'utf-32le' : null;
}

/** @returns the text without its mark; what is no scalar value, or cut off, becomes U+FFFD. */
export function decodeUtf32(body: Uint8Array, charset: 'utf-32be' | 'utf-32le'): string {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const isLittle = charset === 'utf-32le';
  const parts: string[] = [];
  for (let at = 4; at + 4 <= body.length; at += 4) {
    const point = view.getUint32(at, isLittle);
    const isScalar = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
    parts.push(String.fromCodePoint(isScalar ? point : 0xfffd));
  }
  if (body.length % 4 !== 0) parts.push('\ufffd');
  return parts.join('');
}

/**
 * Which way round UTF-16 without a mark is, by its ASCII characters, which markup is made of: read
 * the wrong way each is a character of another script, U+XX00.
 *
 * @returns null where there are as many one way as the other, such as none
 */
export function utf16Order(body: Uint8Array): 'utf-16be' | 'utf-16le' | null {
  let [big, little] = [0, 0];
  const end = Math.min(body.length - 1, ORDER_BYTES_MAX);
  for (let at = 0; at < end; at += 2) {
    const [first, second] = [body[at]!, body[at + 1]!];
    if (first === 0 && isText(second)) big++;
    else if (second === 0 && isText(first)) little++;
  }
  if (big === little) return null;
  return big > little ? 'utf-16be' : 'utf-16le';
}

function isText(byte: number): boolean {
  return (byte >= 0x20 && byte < 0x7f) || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}
