import assert from 'node:assert/strict';
import { test } from 'node:test';
import { charsetOf, decode, encodeQuery } from '../../../../agent/parse/text/charset.ts';
import { absent, bytesOf, independentCases } from '../../url/independent-cases.ts';

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

/** The charset of a page without any declaration, by its header. */
const headed = (contentType: string) => charsetOf(new Uint8Array(), contentType);

const cases = independentCases<Charsets>('html_charset.json');

/**
 * Rows that follow w3lib where the HTML Standard differs, while other rows follow the standard: a
 * declaration in the body counts (C0094), and plain ASCII without a declaration is windows-1252
 * (C0129), which decodes the same.
 */
const OTHERWISE = new Set(['C0094', 'C0129']);

/**
 * Python's names of encodings that the Encoding Standard names differently; the decoders are the
 * same.
 */
const PYTHON_NAMES = new Map([
  ['utf-16-be', 'utf-16be'],
  ['utf-16-le', 'utf-16le'],
  ['utf-32-be', 'utf-32be'],
  ['utf-32-le', 'utf-32le'],
  ['gb18030', 'gbk'],
]);

test('charset: prefers the byte order mark, then the header, then the declaration, then windows-1252', () => {
  const declared = Buffer.from('<meta charset=big5>');
  const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), declared]);
  assert.equal(charsetOf(marked, 'text/html; charset=koi8-r'), 'utf-8');
  assert.equal(charsetOf(declared, 'text/html; charset=koi8-r'), 'koi8-r');
  assert.equal(charsetOf(declared, 'text/html; charset=nonsense'), 'big5');
  assert.equal(charsetOf(declared, null), 'big5');
  assert.equal(charsetOf(Buffer.from('<meta charset=nonsense>'), null), 'windows-1252');
});

test('charset: detects UTF-8 by its bytes if nothing declares it', () => {
  assert.equal(charsetOf(Buffer.from('<p>Füße'), 'text/html'), 'utf-8');
  assert.equal(charsetOf(Buffer.from('<p>Füße', 'latin1'), 'text/html'), 'windows-1252');
  assert.equal(charsetOf(Buffer.from('<p>plain'), 'text/html'), 'windows-1252');
  // The inspected part may end within a character, and an error after it does not count.
  for (const pad of [0, 1, 2, 3]) {
    const text = `${'x'.repeat(pad)}${'中'.repeat(30_000)}`;
    const body = Buffer.concat([Buffer.from(text), Buffer.from([0xff])]);
    assert.equal(charsetOf(body, null), 'utf-8');
  }
  assert.equal(charsetOf(Buffer.from('<meta charset=koi8-r>Füße'), null), 'koi8-r');
});

test('charset: finds a declaration far from the beginning', () => {
  const late = Buffer.from(`<!--${'x'.repeat(9000)}--><meta charset=euc-kr>`);
  assert.equal(charsetOf(late, 'text/html'), 'euc-kr');
});

test('charset: the last of joined headers counts, but keeps the charset of an equal type', () => {
  assert.equal(headed('text/html;charset=utf-8, text/html'), 'utf-8');
  assert.equal(headed('text/html;charset=utf-8, text/plain'), 'windows-1252');
  assert.equal(headed('text/plain;charset=utf-8, text/html;charset=big5'), 'big5');
});

test('charset: parses the parameters of a header as a MIME type', () => {
  const gbk = ['=gbk', '= gbk', '=gbk;charset=windows-1255', '=;charset=gbk', '= ;charset=gbk'];
  const quoted = ['="gbk"', '="\\g\\b\\k"', '="\\ gbk"', '=gbk;x=";charset=big5"', '="gbk" ;x'];
  for (const text of [...gbk, ...quoted])
    assert.equal(headed(`text/html;charset${text}`), 'gbk', text);
  assert.equal(headed('text/html; x= "a; charset=gbk'), 'gbk', 'a quote within a value');
  const hidden = 'text/html;x="\\";charset=big5";charset=gbk';
  for (const header of [hidden, 'text/html;test;charset=GBK', 'TEXT/HTML ; CHARSET=GBK']) {
    assert.equal(headed(header), 'gbk', header);
  }
  const none = [' =gbk', '=gbk(', "='gbk'", '="";charset=gbk', '=();charset=gbk', '=";charset=gbk'];
  for (const text of none) assert.equal(headed(`text/html;charset${text}`), 'windows-1252', text);
});

test('charset: reads UTF-16 in the byte order of its ASCII, whatever the header says', () => {
  const little = Buffer.from('<a href="/ß">中文</a>', 'utf16le');
  const big = Buffer.from(little).swap16();
  for (const label of ['utf-16', 'utf-16le', 'utf-16be', 'ucs-2', 'unicodefffe']) {
    assert.equal(headed(`text/html;charset=${label}`).slice(0, 6), 'utf-16');
    assert.equal(charsetOf(little, `text/html;charset=${label}`), 'utf-16le', label);
    assert.equal(charsetOf(big, `text/html;charset=${label}`), 'utf-16be', label);
  }
  assert.equal(decode(big, 'utf-16be'), '<a href="/ß">中文</a>');
  // Without ASCII the label decides, unless there is a byte order mark.
  const letters = Buffer.from('中文', 'utf16le');
  assert.equal(charsetOf(letters, 'text/html;charset=utf-16be'), 'utf-16be');
  assert.equal(charsetOf(letters, 'text/html;charset=utf-16'), 'utf-16le');
  const mark = Buffer.from([0xff, 0xfe]);
  assert.equal(charsetOf(Buffer.concat([mark, big]), 'text/html;charset=utf-16be'), 'utf-16le');
  // A declaration of UTF-16 within the document is wrong, because it was read as ASCII.
  assert.equal(charsetOf(Buffer.from('<meta charset=utf-16be>'), null), 'utf-8');
});

test('charset: accepts UTF-32 only with a byte order mark, and replaces bad scalars by U+FFFD', () => {
  const points = [0xfeff, 0x3c, 0x1f600, 0xd800, 0x110000, 0x4e2d];
  const big = Buffer.alloc(points.length * 4 + 2);
  const little = Buffer.alloc(points.length * 4);
  for (const [at, point] of points.entries()) {
    big.writeUInt32BE(point, at * 4);
    little.writeUInt32LE(point, at * 4);
  }
  assert.equal(charsetOf(big, 'text/html;charset=koi8-r'), 'utf-32be');
  assert.equal(charsetOf(little, null), 'utf-32le');
  assert.equal(decode(big, 'utf-32be'), '<😀\ufffd\ufffd中\ufffd');
  assert.equal(decode(little, 'utf-32le'), '<😀\ufffd\ufffd中');
  assert.equal(headed('text/html;charset=utf-32'), 'windows-1252');
  assert.equal(encodeQuery('?ß', 'utf-32le'), '?ß');
});

test('charset: decodes bytes correctly that Node decodes wrongly', () => {
  assert.equal(decode(Buffer.from([0x83, 0x5c]), 'big5'), '\ufffd\\');
  assert.equal(decode(Buffer.from([0x80, 0x41]), 'shift_jis'), '\x80A');
  assert.equal(decode(Buffer.from([0x80, 0x9f]), 'windows-1252'), '€Ÿ');
  assert.equal(decode(Buffer.from('abc'), 'replacement'), '\ufffd');
});

test('charset: encodes only the query of a link in the encoding of the page', () => {
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
  for (const { body_b64, bom } of cases!.bom) {
    assert.equal(charsetOf(bytesOf(undefined, body_b64), null), PYTHON_NAMES.get(bom) ?? bom);
  }
});
