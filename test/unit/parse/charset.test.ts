import assert from 'node:assert/strict';
import { test } from 'node:test';
import { charsetOf, decode, encodeQuery } from '../../../agent/parse/charset.ts';
import { absent, bytesOf, independentCases } from '../url/independent-cases.ts';

interface Charsets {
  documents: {
    id: string;
    body_b64: string;
    contentType: string;
    encoding: string | null;
    text?: string | null;
  }[];
  contentTypeHeader: { header: string; charset: string | null }[];
  bom: { body_b64: string; bom: string }[];
}

/** What a page without any declaration is taken for, by its header. */
const headed = (contentType: string) => charsetOf(new Uint8Array(), contentType);

const cases = independentCases<Charsets>('html_charset.json');

/**
 * Rows that follow w3lib where the standards differ: a declaration in the body does count (C0094),
 * there is no UTF-32 (C0121), `utf-16` is little endian (C0124), the default is no UTF-8 (C0129).
 */
const OTHERWISE = new Set(['C0094', 'C0121', 'C0124', 'C0129']);

/** Python's names of what the Encoding Standard calls otherwise; the decoder is the same. */
const PYTHON_NAMES = new Map([
  ['utf-16-be', 'utf-16be'],
  ['utf-16-le', 'utf-16le'],
  ['gb18030', 'gbk'],
]);

test('charset: byte order mark, then header, then declaration, then windows-1252', () => {
  const declared = Buffer.from('<meta charset=big5>');
  const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), declared]);
  assert.equal(charsetOf(marked, 'text/html; charset=koi8-r'), 'utf-8');
  assert.equal(charsetOf(declared, 'text/html; charset=koi8-r'), 'koi8-r');
  assert.equal(charsetOf(declared, 'text/html; charset=nonsense'), 'big5');
  assert.equal(charsetOf(declared, null), 'big5');
  assert.equal(charsetOf(Buffer.from('<meta charset=nonsense>'), null), 'windows-1252');
});

test('charset: without a declaration UTF-8 is known by its bytes', () => {
  assert.equal(charsetOf(Buffer.from('<p>Füße'), 'text/html'), 'utf-8');
  assert.equal(charsetOf(Buffer.from('<p>Füße', 'latin1'), 'text/html'), 'windows-1252');
  assert.equal(charsetOf(Buffer.from('<p>plain'), 'text/html'), 'windows-1252');
  // The part looked at may end within a character, and a slip behind it does not count.
  for (const pad of [0, 1, 2, 3]) {
    const text = `${'x'.repeat(pad)}${'中'.repeat(30_000)}`;
    const body = Buffer.concat([Buffer.from(text), Buffer.from([0xff])]);
    assert.equal(charsetOf(body, null), 'utf-8');
  }
  assert.equal(charsetOf(Buffer.from('<meta charset=koi8-r>Füße'), null), 'koi8-r');
});

test('charset: a declaration behind much else is found', () => {
  const late = Buffer.from(`<!--${'x'.repeat(9000)}--><meta charset=euc-kr>`);
  assert.equal(charsetOf(late, 'text/html'), 'euc-kr');
});

test('charset: of joined headers the last counts, but keeps the charset of its type', () => {
  assert.equal(headed('text/html;charset=utf-8, text/html'), 'utf-8');
  assert.equal(headed('text/html;charset=utf-8, text/plain'), 'windows-1252');
  assert.equal(headed('text/plain;charset=utf-8, text/html;charset=big5'), 'big5');
});

test('charset: bytes that Node decodes wrongly are right', () => {
  assert.equal(decode(Buffer.from([0x83, 0x5c]), 'big5'), '\ufffd\\');
  assert.equal(decode(Buffer.from([0x80, 0x41]), 'shift_jis'), '\x80A');
  assert.equal(decode(Buffer.from([0x80, 0x9f]), 'windows-1252'), '€Ÿ');
  assert.equal(decode(Buffer.from('abc'), 'replacement'), '\ufffd');
});

test('charset: only the query of a link is in the encoding of the page', () => {
  assert.equal(encodeQuery('/ß?ß#ß', 'windows-1252'), '/ß?%DF');
  assert.equal(encodeQuery('/ß?ß', 'utf-8'), '/ß?ß');
  assert.equal(encodeQuery('/ß#?ß', 'windows-1252'), '/ß#?ß');
  assert.equal(encodeQuery('?%41 中', 'gbk'), '?%41%20%D6%D0');
  assert.equal(encodeQuery('?中', 'windows-1252'), '?%26%2320013%3B');
  assert.equal(encodeQuery('?\ud800', 'koi8-r'), '?%26%2365533%3B');
});

test('independent cases: encodings of documents', { skip: absent(cases) }, () => {
  for (const row of cases!.documents.filter((row) => !OTHERWISE.has(row.id))) {
    const body = bytesOf(undefined, row.body_b64);
    const charset = charsetOf(body, row.contentType === '' ? null : row.contentType);
    const expected = row.encoding!;
    assert.ok(charset === expected || charset === PYTHON_NAMES.get(expected), row.id);
    if (typeof row.text === 'string') assert.equal(decode(body, charset), row.text, row.id);
  }
});

test('independent cases: headers and byte order marks', { skip: absent(cases) }, () => {
  for (const { header, charset } of cases!.contentTypeHeader) {
    assert.equal(headed(header), charset ?? 'windows-1252', header);
  }
  for (const { body_b64, bom } of cases!.bom.filter(({ bom }) => !bom.startsWith('utf-32'))) {
    assert.equal(charsetOf(bytesOf(undefined, body_b64), null), PYTHON_NAMES.get(bom) ?? bom);
  }
});
