// Reads encodings that browsers do not read: UTF-32, and UTF-16 in another byte order than its
// header says. The Encoding Standard excludes UTF-32 because scripts can hide in it, and reads
// UTF-16 without a mark as little-endian. No scripts run here, and text in the wrong byte order has
// no links at all. Both are recognized by bytes that mean nothing in any other encoding.

/** Bytes that are examined for the byte order of UTF-16. */
const ORDER_BYTES_MAX = 1024;

/**
 * By the byte order mark. Browsers read `FF FE 00 00` as UTF-16 that starts with U+0000, which no
 * real document does.
 */
export function utf32Mark(body: Uint8Array): 'utf-32be' | 'utf-32le' | null {
  const [a, b, c, d] = body;
  if (a === 0 && b === 0 && c === 0xfe && d === 0xff) return 'utf-32be';
  return a === 0xff && b === 0xfe && c === 0 && d === 0 ? 'utf-32le' : null;
}

/** @returns the text without its mark; invalid and incomplete code points become U+FFFD */
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
 * Byte order of UTF-16 without a mark, from its ASCII characters, which most markup consists of. In
 * the wrong order, each would be a character of another script, U+XX00.
 * @returns null if both orders have as many ASCII characters, for example none
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
