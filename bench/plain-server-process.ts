// The web server for a machine without nginx. It holds all files in memory, distinguishes hosts by
// the address of the connection, and writes a log in nginx's format at the end. It is a separate
// process, so that its time counts for no crawler. `plain-server.ts` starts it:
// node bench/plain-server-process.ts ROOT PORT LOG

import fs from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';

const [root = '', port = '', log = ''] = process.argv.slice(2);

/** By address and path. */
const files = new Map<string, Buffer>();
for (const address of fs.readdirSync(root)) {
  for (const name of fs.readdirSync(path.join(root, address), {
    recursive: true,
    encoding: 'utf8',
  })) {
    const file = path.join(root, address, name);
    if (!fs.statSync(file).isFile()) continue;
    files.set(`${address}/${name === 'index.html' ? '' : name}`, fs.readFileSync(file));
  }
}

const lines: string[] = [];
const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const startMs = performance.now();
  const address = request.socket.localAddress ?? '';
  const target = request.url ?? '/';
  const body = files.get(address + target);
  response.writeHead(body ? 200 : 404, {
    'content-type': target.endsWith('.txt') ? 'text/plain' : 'text/html',
    'content-length': body?.byteLength ?? 0,
  });
  response.end(body);
  response.once('close', () => {
    const nowMs = performance.now();
    const end = ((performance.timeOrigin + nowMs) / 1000).toFixed(3);
    const took = ((nowMs - startMs) / 1000).toFixed(3);
    lines.push(`${end} ${took} ${response.statusCode} ${address} ${target}\n`);
  });
});
server.listen(Number(port), '0.0.0.0', 4096);
process.once('SIGTERM', () => {
  fs.writeFileSync(log, lines.join(''));
  process.exit(0);
});
