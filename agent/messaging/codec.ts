// Encodes and decodes frames. A frame is two bytes of magic, the wire version, the encoding, a
// checksum of everything else, and the envelope as JSON, raw or deflated. Size, depth and number of
// objects are checked before `JSON.parse`, because a frame of 4 KiB can decompress to brackets that
// take a second to parse. Node 24 calls its faster zstd experimental, hence deflate.

import { isUtf8 } from 'node:buffer';
import { constants, crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Envelope, MessageType } from '../core/protocol/messages.ts';
import {
  CHECKSUM_AT,
  COMPRESS_NEWS_OVER_BYTES,
  COMPRESS_OVER_BYTES,
  CONTAINERS_MAX,
  DEPTH_MAX,
  ENCODING_AT,
  FRAME_BYTES_MAX,
  HEADER_BYTES,
  MAGIC,
  PAYLOAD_BYTES_MAX,
  QUICK_BRACKETS,
  WIRE_VERSION,
} from './checks/limits.ts';
import { type Rejected, validateEnvelope } from './checks/validate.ts';

/** Messages about members (`COMPRESS_NEWS_OVER_BYTES`). */
const NEWS: ReadonlySet<MessageType> = new Set<MessageType>([
  'HEARTBEAT',
  'WELCOME',
  'REGION_TOLD',
  'FOUND_NODES',
]);

const JSON_PLAIN = 0;
const JSON_DEFLATED = 1;

export type Encoded =
  | { readonly ok: true; readonly frame: Uint8Array }
  | { readonly ok: false; readonly code: 'too_large'; readonly bytes: number };

export type FrameCode =
  | 'too_large'
  | 'bad_magic'
  | 'wrong_version'
  | 'bad_checksum'
  | 'bad_encoding'
  | 'bad_json'
  | 'bad_shape';

export interface FrameError extends Rejected {
  readonly code: FrameCode;
  /** The sender's wire version, with `wrong_version`. */
  readonly version?: number;
}

export type Decoded = { readonly ok: true; readonly envelope: Envelope } | FrameError;

/** Throws only if JSON cannot represent the envelope (a BigInt, a cycle), which is a bug. */
export function encodeEnvelope(envelope: Envelope): Encoded {
  const json = JSON.stringify(envelope);
  // A UTF-16 unit takes at least one byte: this refuses most oversized messages before the copy.
  if (json.length > PAYLOAD_BYTES_MAX) return { ok: false, code: 'too_large', bytes: json.length };
  const plain = Buffer.allocUnsafe(HEADER_BYTES + Buffer.byteLength(json));
  if (plain.length - HEADER_BYTES > PAYLOAD_BYTES_MAX) {
    return { ok: false, code: 'too_large', bytes: plain.length };
  }
  plain.write(json, HEADER_BYTES);
  const isNews = NEWS.has(envelope.message.type);
  const over = isNews ? COMPRESS_NEWS_OVER_BYTES : COMPRESS_OVER_BYTES;
  if (plain.length <= over) return { ok: true, frame: header(plain, JSON_PLAIN) };
  const packed = deflateRawSync(plain.subarray(HEADER_BYTES), { level: constants.Z_BEST_SPEED });
  const bytes = HEADER_BYTES + packed.length;
  if (bytes > FRAME_BYTES_MAX) return { ok: false, code: 'too_large', bytes };
  const frame = Buffer.allocUnsafe(bytes);
  packed.copy(frame, HEADER_BYTES);
  return { ok: true, frame: header(frame, JSON_DEFLATED) };
}

function header(frame: Buffer, encoding: number): Buffer {
  frame[0] = MAGIC[0];
  frame[1] = MAGIC[1];
  frame[2] = WIRE_VERSION;
  frame[ENCODING_AT] = encoding;
  frame.writeUInt32BE(checksum(frame), CHECKSUM_AT);
  return frame;
}

/** Covers all bytes but its own. TCP's checksum misses about one damaged segment in 10,000. */
function checksum(frame: Uint8Array): number {
  return crc32(frame.subarray(HEADER_BYTES), crc32(frame.subarray(0, CHECKSUM_AT)));
}

function refuse(code: FrameCode, detail: string): FrameError {
  return { ok: false, code, detail };
}

/**
 * Never throws.
 *
 * @param incarnationMax as in `validateEnvelope`
 */
export function decodeFrame(bytes: Uint8Array, incarnationMax?: number): Decoded {
  if (bytes.length > FRAME_BYTES_MAX) return refuse('too_large', `${bytes.length} bytes`);
  if (bytes.length < CHECKSUM_AT || bytes[0] !== MAGIC[0] || bytes[1] !== MAGIC[1]) {
    return refuse('bad_magic', `${bytes.length} bytes that are not a frame`);
  }
  const version = bytes[2];
  if (version !== undefined && version !== WIRE_VERSION) {
    const detail = `wire version ${version}, this agent uses ${WIRE_VERSION}`;
    return { ok: false, code: 'wrong_version', detail, version };
  }
  if (bytes.length < HEADER_BYTES) return refuse('bad_checksum', 'the header is truncated');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (view.getUint32(CHECKSUM_AT) !== checksum(bytes)) {
    return refuse('bad_checksum', `${bytes.length} bytes, damaged in transit`);
  }
  const payload = unpack(bytes);
  if (!(payload instanceof Uint8Array)) return payload;
  const value = parse(payload);
  if ('code' in value) return value;
  const checked = validateEnvelope(value.json, incarnationMax);
  return checked.ok ? checked : { ...checked, code: 'bad_shape' };
}

function unpack(bytes: Uint8Array): Buffer | FrameError {
  const body = Buffer.from(
    bytes.buffer,
    bytes.byteOffset + HEADER_BYTES,
    bytes.length - HEADER_BYTES,
  );
  const encoding = bytes[ENCODING_AT];
  if (encoding === JSON_PLAIN) return body;
  if (encoding !== JSON_DEFLATED) return refuse('bad_encoding', `encoding ${encoding}`);
  try {
    return inflateRawSync(body, { maxOutputLength: PAYLOAD_BYTES_MAX });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      return refuse('too_large', `decompresses to more than ${PAYLOAD_BYTES_MAX} bytes`);
    }
    return refuse('bad_encoding', 'cannot be decompressed');
  }
}

function parse(payload: Buffer): { json: unknown } | FrameError {
  if (!isUtf8(payload)) return refuse('bad_json', 'not UTF-8');
  if (!isShallow(payload)) return refuse('bad_json', 'nested too deep or too many objects');
  try {
    return { json: JSON.parse(payload.toString('utf8')) };
  } catch {
    return refuse('bad_json', 'not JSON');
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Few brackets cannot exceed the limits. Counting them with native code is cheap and suffices for
 * nearly every frame. Only a frame with more of them, including those in strings, is scanned.
 */
function isShallow(json: Buffer): boolean {
  return (
    (hasAtMost(json, OPEN_OBJECT, QUICK_BRACKETS) && hasAtMost(json, OPEN_ARRAY, QUICK_BRACKETS)) ||
    isShallowExactly(json)
  );
}

function hasAtMost(json: Buffer, byte: number, max: number): boolean {
  let at = json.indexOf(byte);
  for (let seen = 0; at !== -1; seen += 1) {
    if (seen === max) return false;
    at = json.indexOf(byte, at + 1);
  }
  return true;
}

function isShallowExactly(json: Buffer): boolean {
  let depth = 0;
  let containers = 0;
  let inString = false;
  for (let i = 0; i < json.length; i += 1) {
    const byte = json[i];
    if (inString) {
      if (byte === BACKSLASH) i += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) {
      inString = true;
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      depth += 1;
      containers += 1;
      if (depth > DEPTH_MAX || containers > CONTAINERS_MAX) return false;
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
      depth -= 1;
    }
  }
  return true;
}
