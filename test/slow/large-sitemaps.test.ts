// Six hosts with a sitemap of nearly the largest size each, of millions of attributes: what they list
// is crawled, and the memory of the agent stays below the bound that the documentation gives. Nothing
// here is judged by time.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Scratch } from '../integration/cli-process.ts';
import { finish } from './programs.ts';

const main = resolve(import.meta.dirname, '../../agent/main.ts');
const hostCount = 6;
const sitemapBytes = 49 * 1024 * 1024;
const memoryBytesMax = 800 * 1024 * 1024;
/** A busy machine needs minutes. */
const crawlMsMax = 500_000;

function sitemapOf(origin: string): Buffer {
  const entry = `<loc>${origin}/listed</loc></url></urlset>`;
  const attributes = Array.from({ length: 10_000 }, (_, n) => ` a${n}=""`).join('');
  const count = Math.floor((sitemapBytes - entry.length) / attributes.length);
  return gzipSync(`<urlset><url${attributes.repeat(count)}>${entry}`);
}

test('parse: six sitemaps of 49 MB are read, and the agent stays below 800 MiB', async (t) => {
  const scratch = new Scratch();
  const listed = new Set<string>();
  let peakBytes = 0;
  const serve: RequestListener = ({ url, headers: { host = '' } }, response) => {
    if (url === '/sitemap.xml') {
      const headers = { 'content-type': 'application/xml', 'content-encoding': 'gzip' };
      response.writeHead(200, headers).end(sitemapOf(`http://${host}`));
      return;
    }
    if (url === '/listed') {
      listed.add(host);
      // The agent that asks is there, and the last of them has had all of them.
      peakBytes = peakOf(scratch.pid('a1'));
    }
    response.writeHead(url === '/robots.txt' ? 404 : 200, { 'content-type': 'text/html' }).end();
  };
  const servers = Array.from({ length: hostCount }, () => createServer(serve));
  t.after(() => {
    for (const server of servers) server.close().closeAllConnections();
    scratch.clean();
  });
  const origins: string[] = [];
  let port = 0;
  for (const [n, server] of servers.entries()) {
    const address = `127.61.0.${n + 1}`;
    await once(server.listen(port, address), 'listening');
    port = (server.address() as AddressInfo).port;
    origins.push(`http://${address}:${port}`);
  }
  const seeds = origins.map((origin) => `${origin}/`);
  const declared = origins.map((origin) => `${origin}/sitemap.xml`);
  const config = await scratch.config(1, { seeds, sitemaps: declared });
  const { code, stderr } = await finish(process.execPath, [main, 'launch', config], crawlMsMax);
  assert.equal(code, 0, stderr);
  assert.equal(listed.size, hostCount, 'every sitemap was read to its end');
  assert.ok(peakBytes > 0 && peakBytes < memoryBytesMax, `${peakBytes / 1024 ** 2} MiB`);
});

/** The most memory that the process has had so far. */
function peakOf(pid: number | null): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024;
}
