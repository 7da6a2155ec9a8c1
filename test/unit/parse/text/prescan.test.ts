// Tests the prescan for encoding declarations (HTML Standard, 13.2.3.2) with declarations as people
// and generators write them, and with text that only looks like one. Another test compares it with
// jsdom's html-encoding-sniffer on random documents.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { declaredEncoding } from '../../../../agent/parse/text/prescan.ts';

const declared = (text: string) => declaredEncoding(Buffer.from(text, 'latin1'));
const content = (value: string) => `<meta http-equiv="Content-Type" content="${value}">`;

test('prescan: reads attributes in any spelling', () => {
  const spellings = [
    ...['<meta charset=gbk>', "<META CHARSET='GBK'>", '<meta\ncharset\t=\n"gbk"\f>'],
    ...['<meta/charset=gbk>', '<meta / charset=gbk />', '<meta //charset="gbk"/>'],
    ...['<meta a charset=gbk>', '<meta a=">" b=\'>\' charset=gbk>', '<meta charset= gbk>'],
    ...['<meta =x charset=gbk>', '<meta charset=gbk charset=big5>', '<meta charset=" gbk ">'],
    ...['<meta charset=gbk content="text/html; charset=big5" http-equiv=content-type>'],
    ...['<p><b title="<meta charset=big5>"></b><meta charset=gbk>', '</p x><meta charset=gbk>'],
    ...['<!--><meta charset=gbk>-->', '<!---><meta charset=gbk>'],
    ...[
      '<!doctype html><?x?></><meta charset=gbk>',
      '< <<meta charset=gbk>',
      'x<1<meta charset=gbk>',
    ],
    ...['<metax charset=big5><meta charset=gbk>', '<meta charset=nonsense><meta charset=gbk>'],
  ];
  for (const text of spellings) {
    assert.equal(declared(text), 'gbk', text);
  }
  // The prescan accepts only `-->` as the end of a comment; the parser also accepts `--!>`.
  assert.equal(declared('<!-- --!><meta charset=gbk>'), null);
});

test('prescan: reads the charset in the value of content', () => {
  for (const value of [
    ...['text/html;charset=gbk', 'text/html; charset = gbk ', 'charset=gbk;x', 'CHARSET=GBK'],
    ...["charset='gbk'", 'charset charset=gbk', 'xcharset=gbk', "charset= 'gbk' x"],
  ]) {
    assert.equal(declared(content(value)), 'gbk', value);
  }
  for (const value of [
    'charset',
    'charset=',
    "charset='gbk",
    'charset gbk',
    'gbk',
    'charset==gbk',
  ]) {
    assert.equal(declared(content(value)), null, value);
  }
  assert.equal(declared('<meta content="charset=gbk">'), null, 'without http-equiv');
  assert.equal(declared('<meta content="charset=gbk" http-equiv=content-type>'), 'gbk');
  assert.equal(declared('<meta content="charset=gbk" http-equiv="content-type ">'), null);
});

test('prescan: finds no declaration in incomplete tags, in other text or in unknown encodings', () => {
  const none = [
    ...['', '<', '<meta', '<meta ', '<meta charset', '<meta charset=gbk', '<meta charset="gbk>"'],
    ...['<meta charset="gbk"', '<!-- <meta charset=gbk> -->', '<!-- <meta charset=gbk>'],
    ...['<p title="<meta charset=gbk>">', "<a b='<meta charset=gbk>'>", '</meta charset=gbk>'],
    ...['<metacharset=gbk>', '<meta charset=nonsense>', '<meta charset>', '<meta charset=gbk/>'],
    ...['<! <meta charset=gbk>', '<?x <meta charset=gbk>', '<meta name=charset content=gbk>'],
  ];
  for (const text of none) assert.equal(declared(text), null, text);
});

test('prescan: replaces encodings that a declaration cannot mean', () => {
  for (const label of ['utf-16', 'utf-16le', 'UTF-16BE', 'ucs-2', 'utf8']) {
    assert.equal(declared(`<meta charset=${label}>`), 'utf-8', label);
    assert.equal(declared(`<?xml encoding="${label}"?>`), 'utf-8', label);
  }
  assert.equal(declared('<meta charset=x-user-defined>'), 'windows-1252');
  assert.equal(declared('<meta charset=iso-2022-kr>'), 'replacement');
});

test('prescan: reads the XML declaration unless a meta element declares another encoding', () => {
  for (const xml of ['encoding="gbk"', "encoding = 'gbk'", 'version="1.0" encoding="GBK"']) {
    assert.equal(declared(`<?xml ${xml}?><p>`), 'gbk', xml);
    assert.equal(declared(`<?xml ${xml}?><meta charset=big5>`), 'big5', xml);
    assert.equal(declared(` <?xml ${xml}?>`), null, 'not at the very start');
    assert.equal(declared(`<?xml ${xml}`), null, 'cut off');
  }
  for (const xml of ['encoding=gbk', 'encoding=" gbk"', 'encoding="gbk']) {
    assert.equal(declared(`<?xml ${xml}?>`), null, xml);
  }
  assert.equal(declaredEncoding(Buffer.from('<?xml?>', 'utf16le')), 'utf-16le');
  assert.equal(declaredEncoding(Buffer.from('<?xml?>', 'utf16le').swap16()), 'utf-16be');
});
