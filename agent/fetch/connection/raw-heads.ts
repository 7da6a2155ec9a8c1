/**
 * The heads of an exchange as text, for the archive, each byte a character. The request's is what
 * Node wrote. The response's is put together from the fields as Node read them, in their order and
 * spelling, repeated ones repeated. Only what is not true of the stored body any more is renamed:
 * the framing of the transfer is undone before the body is kept. `exchange.ts` calls both when a
 * response is complete.
 */

import type { ClientRequest, IncomingMessage } from 'node:http';

/** Name under which the framing that was undone is told; replay tools know `X-Orig-` names. */
export const ORIGINAL_TRANSFER_ENCODING = 'X-Orig-Transfer-Encoding';
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['transfer-encoding', ORIGINAL_TRANSFER_ENCODING],
]);

/** Of a request that was written: request line, fields and the empty line, as sent. */
export function requestHead(request: ClientRequest): string {
  // Node keeps the text that it sent, under a name that its own tests rely on; no public method
  // tells the fields that it added by itself.
  const { _header: sent } = request as unknown as { readonly _header?: unknown };
  if (typeof sent === 'string') return sent;
  // A server that answers before it is asked. What would have been sent is not known in full.
  return `${request.method} ${request.path} HTTP/1.1\r\n\r\n`;
}

/** Status line, fields and the empty line. */
export function responseHead(response: IncomingMessage): string {
  const { httpVersion, statusCode, statusMessage, rawHeaders } = response;
  let head = `HTTP/${httpVersion} ${statusCode} ${statusMessage ?? ''}\r\n`;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    head += `${RENAMED.get(name.toLowerCase()) ?? name}: ${rawHeaders[at + 1]}\r\n`;
  }
  return `${head}\r\n`;
}
