// One WARC record as bytes (ISO 28500, WARC 1.1): named fields, an empty line, the block, two
// empty lines. Content-Length and the block's digest are added here, so that they are always
// true. Built by capture-records.ts; warc-writer.ts packs each by itself.

import { sha1Base32 } from './digest.ts';

export type WarcType = 'warcinfo' | 'response' | 'revisit' | 'request' | 'metadata';

export type Fields = readonly (readonly [name: string, value: string])[];

const END = Buffer.from('\r\n\r\n');

/** @param block parts that follow one another; bytes are copied. */
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

/** Lines of `application/warc-fields`, also the form of a record's own head. */
export function fieldLines(fields: Fields): string {
  return fields.map(([name, value]) => `${name}: ${oneLine(value)}\r\n`).join('');
}

/** A value that held a line end could pass for a field, or for the end of all fields. */
function oneLine(value: string): string {
  return value.replace(/[\r\n]+/g, ' ');
}
