// The web server of a machine without nginx: all files in memory, told apart by the address that
// the client connected to, and a log in nginx's format, written at the end. A process of its own,
// so that its time is nobody's. Started by `plain-server.ts`:
//   node bench/plain-server-process.ts ROOT PORT LOG

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
