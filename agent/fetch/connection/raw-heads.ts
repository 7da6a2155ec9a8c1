/**
 * The heads of an exchange as text for the archive; each character stands for one byte. The request
 * head is the text that Node wrote. The response head is rebuilt from its fields in their order and
 * spelling. Transfer-Encoding is renamed, because the stored body is no longer transfer-coded.
 */

import type { ClientRequest, IncomingMessage } from 'node:http';

/** The new name of Transfer-Encoding. Replay tools know names that begin with `X-Orig-`. */
export const ORIGINAL_TRANSFER_ENCODING = 'X-Orig-Transfer-Encoding';

/** Request line, fields and the empty line, as sent. */
export function requestHead(request: ClientRequest): string {
  // No public property includes the fields that Node added. This internal one does; Node keeps it
  // because its own tests use it.
  const { _header: sent } = request as unknown as { readonly _header?: unknown };
  if (typeof sent === 'string') return sent;
  // The server responded before the request was written, so its fields are not fully known.
  return `${request.method} ${request.path} HTTP/1.1\r\n\r\n`;
}

/** Status line, fields and the empty line. */
export function responseHead(response: IncomingMessage): string {
  const { httpVersion, statusCode, statusMessage, rawHeaders } = response;
  let head = `HTTP/${httpVersion} ${statusCode} ${statusMessage ?? ''}\r\n`;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const isRenamed = rawHeaders[at]!.toLowerCase() === 'transfer-encoding';
    const name = isRenamed ? ORIGINAL_TRANSFER_ENCODING : rawHeaders[at]!;
    head += `${name}: ${rawHeaders[at + 1]}\r\n`;
  }
  return `${head}\r\n`;
}
