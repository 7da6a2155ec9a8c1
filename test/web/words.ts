// The words of synthetic pages in six encodings, as bytes. They are kept as strings with one
// character per byte, so that a page is built from them and its ASCII markup, and converted once.
// Some second bytes look like ASCII (a backslash, a bar, a bracket), and some bytes exist only in
// windows-1252, which careless decoders handle wrongly.
import { createMultibyteEncoder } from '@exodus/bytes/multi-byte.js';

export const charsets = ['windows-1252', 'shift_jis', 'gbk', 'big5', 'euc-kr'] as const;
export type Charset = 'utf-8' | (typeof charsets)[number];

const texts: Record<Charset, string> = {
  'utf-8': 'déjà naïve Straße лес 東京 €10 “so” ring host frontier',
  'windows-1252': 'déjà naïve Straße façade niño \u0080 \u0093so\u0094 ring host frontier',
  shift_jis: '東京 ソース 表示 能力 十分 構造 予定 ring host frontier',
  gbk: '中文 网页 镕基 瞭望 囧境 丂丄 抓取 ring host frontier',
  big5: '中文 許功蓋 網頁 功能 淚珠 餐廳 ring host frontier',
  'euc-kr': '한국 페이지 똠방 웹문서 펲시 링크 ring host frontier',
};

function bytesOf(charset: Charset, text: string): string {
  if (charset === 'windows-1252') return text; // its bytes are the code points used above
  if (charset === 'utf-8') return Buffer.from(text, 'utf8').toString('latin1');
  return Buffer.from(createMultibyteEncoder(charset)(text)).toString('latin1');
}

const words = new Map<Charset, readonly string[]>();

/** The words of an encoding, with one character per byte. */
export function wordsOf(charset: Charset): readonly string[] {
  let known = words.get(charset);
  if (known === undefined) {
    known = texts[charset].split(' ').map((word) => bytesOf(charset, word));
    words.set(charset, known);
  }
  return known;
}

/** A paragraph of about 400 bytes, used to fill pages up to their size. */
export function paragraph(charset: Charset, turn: number): string {
  const known = wordsOf(charset);
  let text = '<p>';
  for (let n = turn; text.length < 400; n++) text += `${known[n % known.length]} `;
  return `${text}</p>\n`;
}
