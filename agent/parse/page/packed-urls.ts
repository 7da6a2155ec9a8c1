// URLs as bytes, to go from one thread to another: a buffer changes hands as it is, whereas fifty
// thousand objects would be read by the receiving thread in one go. They are unpacked one by one.

import type { PageLink } from './links.ts';

const TAB = '\t';
const LINE_FEED = 10;

/**
 * A line for each URL: the identity, the form to request where that is another, and the host where
 * it is not that of the line before. None of the three has blanks or characters beyond ASCII.
 */
export function packUrls(urls: Iterable<PageLink>): Uint8Array<ArrayBuffer> {
  const lines: string[] = [];
  let last = '';
  for (const { identity, fetchUrl, host } of urls) {
    const form = fetchUrl === null || String(fetchUrl) === identity ? '' : fetchUrl;
    const rest = host === last ? [form] : [form, host];
    lines.push(form === '' && host === last ? identity : [identity, ...rest].join(TAB), '\n');
    last = host;
  }
  const bytes = lines.reduce((sum, { length }) => sum + length, 0);
  const packed = new Uint8Array(bytes);
  const buffer = Buffer.from(packed.buffer);
  let at = 0;
  for (const line of lines) at += buffer.write(line, at, 'latin1');
  return packed;
}

/** The URLs of `packUrls`, in their order. */
export function* unpackUrls(packed: Uint8Array): Generator<PageLink> {
  const buffer = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  let host = '';
  for (let at = 0; at < buffer.length; ) {
    const end = buffer.indexOf(LINE_FEED, at);
    const [identity, form = '', named] = buffer.toString('latin1', at, end).split(TAB);
    host = named ?? host;
    yield { identity: identity!, fetchUrl: form === '' ? null : form, host };
    at = end + 1;
  }
}
