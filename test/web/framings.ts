// Responses that no HTTP library would write but that browsers and curl read: contradictory or
// repeated fields, folded lines, lines that end in LF only. Each body is `hello`.

/** By the path at which they are served. */
export const framings: Readonly<Record<string, Buffer>> = {
  '/length-twice': bytes('HTTP/1.1 200 OK', [
    'Content-Type: text/html',
    'Content-Length: 5',
    'Content-Length: 5',
  ]),
  '/length-and-chunks': Buffer.from(
    'HTTP/1.1 200 OK\r\nContent-Length: 999\r\nTransfer-Encoding: chunked\r\n\r\n' +
      '5\r\nhello\r\n0\r\n\r\n',
  ),
  '/folded': bytes('HTTP/1.1 200 OK', ['X-Folded: a', ' b', 'Content-Length: 5']),
  '/line-feeds': Buffer.from(
    'HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 5\n\nhello',
  ),
  '/length-signed': bytes('HTTP/1.1 200 OK', ['Content-Type: text/html', 'Content-Length: +5']),
  '/length-endless': bytes('HTTP/1.1 200 OK', [`Content-Length: ${'9'.repeat(20)}`]),
  '/control': bytes('HTTP/1.1 200 OK', ['X-Control: a\x01b', 'Content-Length: 5']),
};

/** A response with a Content-Length. */
export function rawAnswer(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer,
): Buffer {
  const content = Buffer.from(body);
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = [`HTTP/1.1 ${status} X`, ...fields, `content-length: ${content.length}`];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), content]);
}

function bytes(line: string, fields: readonly string[]): Buffer {
  return Buffer.from(`${[line, ...fields].join('\r\n')}\r\n\r\nhello`, 'latin1');
}
