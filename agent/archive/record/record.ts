// Formats one WARC record (ISO 28500, WARC 1.1): named fields, an empty line, the block, two empty
// lines. It computes Content-Length and the digest of the block, so that both match the block.

import { sha1Base32 } from './digest.ts';

type WarcType = 'warcinfo' | 'response' | 'revisit' | 'request' | 'metadata';

export type Fields = readonly (readonly [name: string, value: string])[];

const END = Buffer.from('\r\n\r\n');

/** @param block - consecutive parts; their bytes are copied */
export function warcRecord(
  type: WarcType,
  fields: Fields,
  block: readonly Uint8Array[],
): Buffer<ArrayBuffer> {
  const length = block.reduce((sum, part) => sum + part.byteLength, 0);
  const named: Fields = [
    ['WARC-Type', type],
    ...fields,
    ['WARC-Block-Digest', `sha1:${sha1Base32(...block)}`],
    ['Content-Length', String(length)],
  ];
  const head = Buffer.from(`WARC/1.1\r\n${fieldLines(named)}\r\n`);
  return Buffer.concat([head, ...block, END]);
}

/** Formats `application/warc-fields`, which is also the form of the header of a record. */
export function fieldLines(fields: Fields): string {
  return fields.map(([name, value]) => `${name}: ${oneLine(value)}\r\n`).join('');
}

/** A line end in a value could be read as the start of a field, or as the end of all fields. */
function oneLine(value: string): string {
  return value.replace(/[\r\n]+/g, ' ');
}
