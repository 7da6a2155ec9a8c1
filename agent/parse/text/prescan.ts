// Finds the encoding that a document declares, by the steps of the HTML Standard ("prescan a byte
// stream to determine its encoding", 13.2.3.2): in a meta element outside comments and tags, else
// in the XML declaration. The bytes are read as Latin-1 text, in which each byte is one character.

import { normalizeEncoding } from '@exodus/bytes/encoding.js';

const BLANK = /[\t\n\f\r ]/;
const NOT_BLANK = /[^\t\n\f\r ]/g;
const NAME_START = /[^\t\n\f\r /]/g;
const NAME_END = /[\t\n\f\r />=]/g;
const VALUE_END = /[\t\n\f\r >]/g;
const META = /<meta[\t\n\f\r /]/iy;
const TAG = /<\/?[a-z]/iy;
const BOGUS = /<[!/?]/y;

/** Position past the end: a tag or comment that is cut off declares nothing. */
const CUT = Number.POSITIVE_INFINITY;

interface Attribute {
  /** In lower case, like the value. */
  readonly name: string;
  readonly value: string;
  readonly end: number;
}

/** @returns an encoding of the Encoding Standard, in lower case; null if none is declared */
export function declaredEncoding(start: Uint8Array): string | null {
  const text = Buffer.from(start.buffer, start.byteOffset, start.length).toString('latin1');
  if (text.startsWith('<\0?\0x\0')) return 'utf-16le';
  if (text.startsWith('\0<\0?\0x')) return 'utf-16be';
  for (let at = text.indexOf('<'); at >= 0 && at < text.length; at = text.indexOf('<', at)) {
    if (text.startsWith('<!--', at)) at = after(text, '-->', at + '<!'.length);
    else if (matches(META, text, at)) {
      const meta = readMeta(text, at + '<meta'.length);
      if (meta.encoding !== null) return meta.encoding;
      at = meta.end;
    } else if (matches(TAG, text, at)) at = endOfTag(text, at + 2);
    else if (matches(BOGUS, text, at)) at = after(text, '>', at);
    else at++;
  }
  return xmlEncoding(text);
}

function matches(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(text);
}

function after(text: string, what: string, from: number): number {
  const found = text.indexOf(what, from);
  return found < 0 ? CUT : found + what.length;
}

function readMeta(text: string, from: number): { encoding: string | null; end: number } {
  const names = new Set<string>();
  let isPragma = false;
  let needsPragma: boolean | null = null;
  let label: string | null = null;
  let at = from;
  for (let next = readAttribute(text, at); next !== null; next = readAttribute(text, at)) {
    const { name, value } = next;
    at = next.end;
    if (at === CUT) return { encoding: null, end: CUT };
    if (names.has(name)) continue;
    names.add(name);
    if (name === 'http-equiv') isPragma = value === 'content-type';
    else if (name === 'charset') {
      label = normalizeEncoding(value);
      needsPragma = false;
    } else if (name === 'content' && label === null) {
      label = encodingIn(value);
      if (label !== null) needsPragma = true;
    }
  }
  const counts = needsPragma === false || (needsPragma === true && isPragma);
  return { encoding: counts ? asDeclared(label) : null, end: at };
}

function endOfTag(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== '>' && !BLANK.test(text[at]!)) at++;
  for (let next = readAttribute(text, at); next !== null; next = readAttribute(text, at)) {
    at = next.end;
  }
  return at;
}

/** "Get an attribute"; null at the end of the tag. */
function readAttribute(text: string, from: number): Attribute | null {
  let at = skip(text, from, NAME_START);
  if (at === CUT) return from === CUT ? null : { name: '', value: '', end: CUT };
  if (text[at] === '>') return null;
  const nameEnd = skip(text, at + 1, NAME_END);
  const name = text.slice(at, nameEnd).toLowerCase();
  at = skip(text, nameEnd, NOT_BLANK);
  if (at === CUT || text[at] !== '=') return { name, value: '', end: at };
  at = skip(text, at + 1, NOT_BLANK);
  const quote = text[at];
  if (quote === '"' || quote === "'") {
    const end = after(text, quote, at + 1);
    return { name, value: text.slice(at + 1, end - 1).toLowerCase(), end };
  }
  const end = skip(text, at, VALUE_END);
  return { name, value: text.slice(at, end).toLowerCase(), end };
}

/** Position of the next match of `stop`, which must be a global pattern. */
function skip(text: string, from: number, stop: RegExp): number {
  if (from === CUT) return CUT;
  stop.lastIndex = from;
  return stop.exec(text)?.index ?? CUT;
}

/** "Extracting a character encoding from a meta element"; the value is in lower case. */
function encodingIn(content: string): string | null {
  const named =
    /charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^"'\t\n\f\r ;][^\t\n\f\r ;]*))?/;
  const [, double, single, plain] = named.exec(content) ?? [];
  const label = double ?? single ?? plain;
  return label === undefined ? null : normalizeEncoding(label);
}

/** ASCII text is not UTF-16, so UTF-16 means UTF-8 here; x-user-defined means windows-1252. */
function asDeclared(encoding: string | null): string | null {
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return 'utf-8';
  return encoding === 'x-user-defined' ? 'windows-1252' : encoding;
}

/** "Get an XML encoding". */
function xmlEncoding(text: string): string | null {
  if (!text.startsWith('<?xml') || !text.includes('>')) return null;
  const [, double, single] =
    /encoding[\0- ]*=[\0- ]*(?:"([^"\0- ]*)"|'([^'\0- ]*)')/.exec(text) ?? [];
  const label = double ?? single;
  return label === undefined ? null : asDeclared(normalizeEncoding(label));
}
