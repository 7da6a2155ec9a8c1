// The least that a crawl needs with the same libraries: a set of URLs, a number of requests at a
// time, `new URL` for each link. It stores nothing, reads no robots.txt and keeps no delay. So its
// cost is that of HTTP and HTML, and a crawler's additional cost is measured against it.
// `rivals.ts` runs it once for each client:
// node bench/bare-loop.ts got|http|undici THREADS SEED

import http from 'node:http';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import got from 'got';
import { Parser } from 'htmlparser2';

type Get = (url: string) => Promise<string>;

async function clientOf(name: string, threads: number): Promise<Get> {
  const agent = new http.Agent({ keepAlive: true, maxFreeSockets: 4 * threads });
  switch (name) {
    case 'got':
      return async (url) => (await got(url, { agent: { http: agent }, retry: { limit: 0 } })).body;
    case 'http':
      return (url) =>
        new Promise((resolve, reject) => {
          const request = http.get(url, { agent }, (response) => {
            const chunks: Buffer[] = [];
            response.on('data', (chunk: Buffer) => chunks.push(chunk));
            response.on('end', () => resolve(Buffer.concat(chunks).toString()));
            response.on('error', reject);
          });
          request.on('error', reject);
        });
    case 'undici': {
      // From the package of the rivals, which is installed only when they run.
      const file = path.join(import.meta.dirname, 'rivals/node_modules/undici/index.js');
      const { request } = (await import(pathToFileURL(file).href)) as {
        request(url: string): Promise<{ body: { text(): Promise<string> } }>;
      };
      return async (url) => (await request(url)).body.text();
    }
    default:
      throw new RangeError(`no client: ${name}`);
  }
}

function linksOf(html: string, base: string): string[] {
  const links: string[] = [];
  const parser = new Parser({
    onopentag: (name, { href }) => {
      if (name !== 'a' || href === undefined) return;
      const url = new URL(href, base);
      url.hash = '';
      links.push(url.href);
    },
  });
  parser.end(html);
  return links;
}

async function crawl(seed: string, threads: number, get: Get): Promise<number> {
  const seen = new Set([seed]);
  const queue = [seed];
  let next = 0;
  let running = 0;
  await new Promise<void>((resolve, reject) => {
    const visit = async (url: string) => {
      for (const link of linksOf(await get(url), url)) {
        if (seen.has(link)) continue;
        seen.add(link);
        queue.push(link);
      }
    };
    const fill = () => {
      for (; running < threads && next < queue.length; next++) {
        running++;
        visit(queue[next] ?? '').then(() => {
          running--;
          fill();
        }, reject);
      }
      if (running === 0) resolve();
    };
    fill();
  });
  return queue.length;
}

const [client = '', threads = '', seed = ''] = process.argv.slice(2);
const pages = await crawl(seed, Number(threads), await clientOf(client, Number(threads)));
process.stdout.write(`${pages} pages\n`);
process.exit(0);
