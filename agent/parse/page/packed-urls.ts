// Packs URLs into bytes to send them from one thread to another. A buffer is transferred without a
// copy, whereas the receiving thread would have to read fifty thousand objects in one step. The
// receiver unpacks the URLs one at a time.

import type { PageLink } from './links.ts';

const LINE_FEED = 10;

/**
 * Writes one line for each URL: the identity, the form to request if it differs, and the host if it
 * differs from that of the line before. A tab separates them. None of the three contains blanks or
 * characters outside ASCII.
 */
export function packUrls(urls: Iterable<PageLink>): Uint8Array<ArrayBuffer> {
  const lines: string[] = [];
  let last = '';
  for (const { identity, fetchUrl, host } of urls) {
    const form = fetchUrl === null || String(fetchUrl) === identity ? '' : fetchUrl;
    if (host !== last) lines.push(`${identity}\t${form}\t${host}\n`);
    else lines.push(form === '' ? `${identity}\n` : `${identity}\t${form}\n`);
    last = host;
  }
  const text = lines.join('');
  // Not in Buffer's pool: it has to be transferred.
  const packed = new Uint8Array(text.length);
  Buffer.from(packed.buffer).write(text, 'latin1');
  return packed;
}

/** Yields the URLs that `packUrls` packed, in their order. */
export function* unpackUrls(packed: Uint8Array): Generator<PageLink> {
  const buffer = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  let host = '';
  for (let at = 0; at < buffer.length; ) {
    const end = buffer.indexOf(LINE_FEED, at);
    const [identity, form = '', named] = buffer.toString('latin1', at, end).split('\t');
    host = named ?? host;
    yield { identity: identity!, fetchUrl: form === '' ? null : form, host };
    at = end + 1;
  }
}
