// The web for the figures of scale: any number of hosts, each with its own address in 127.0.0.0/8,
// with the same number of pages of one shape. A page is computed from its address, so a web of ten
// million pages costs nothing. Its links lead to pages of its own and of other hosts within the
// web, so a crawler that knows the whole web finds nothing new.

import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface WideWeb {
  readonly port: number;
  /** Number of answered page requests so far, without robots.txt. */
  readonly served: number;
  stop(): Promise<void>;
}

/** First address of the web. Lower addresses are left to other uses of loopback. */
const FIRST = 127 * 2 ** 24 + 16 * 2 ** 16;
const LINKS_TO_OWN = 12;
const LINKS_TO_OTHERS = 4;
/** Text around the links: a page has some 6 KB. */
const FILLER = '<p>Nothing is said here that anyone would want to find again.</p>\n'.repeat(60);

export function hostName(host: number): string {
  const address = FIRST + host;
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.');
}

/** As long as paths of real sites are on average. */
export function pathOf(page: number): string {
  return `/archive/2026/section-${page % 7}/an-article-about-the-number-${page}.html`;
}

/** Serves `hosts` × `pages` pages to local clients only, on one free port. */
export async function startWideWeb(hosts: number, pages: number): Promise<WideWeb> {
  let served = 0;
  let port = 0;
  const server = http.createServer((request, response) => {
    const [, name = ''] = /^([\d.]+)(?::|$)/.exec(request.headers.host ?? '') ?? [];
    const page = Number(/-(\d+)\.html$/.exec(request.url ?? '')?.[1] ?? Number.NaN);
    const host = hostNumber(name);
    if (!(host >= 0 && host < hosts && page < pages)) {
      response.writeHead(404).end();
      return;
    }
    served++;
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(pageOf({ host, page, hosts, pages, port }));
  });
  // Only a wildcard can listen on a hundred thousand addresses.
  server.on('connection', (socket) => {
    if (!socket.remoteAddress?.startsWith('127.')) socket.destroy();
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  port = (server.address() as AddressInfo).port;
  return {
    port,
    get served() {
      return served;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function hostNumber(name: string): number {
  return name.split('.').reduce((sum, part) => sum * 256 + Number(part), 0) - FIRST;
}

interface Place {
  readonly host: number;
  readonly page: number;
  readonly hosts: number;
  readonly pages: number;
  readonly port: number;
}

function pageOf({ host, page, hosts, pages, port }: Place): string {
  const links: string[] = [];
  for (let k = 1; k <= LINKS_TO_OWN; k++) links.push(pathOf((page * 31 + k * 17) % pages));
  for (let k = 1; k <= LINKS_TO_OTHERS; k++) {
    const other = (host * 7919 + page * 104_729 + k * 1_299_709) % hosts;
    links.push(`http://${hostName(other)}:${port}${pathOf((page + k) % pages)}`);
  }
  const list = links.map((href, k) => `<li><a href="${href}">link ${k}</a></li>`).join('\n');
  return `<!doctype html><title>page ${page} of ${host}</title>\n<ul>\n${list}\n</ul>\n${FILLER}`;
}
