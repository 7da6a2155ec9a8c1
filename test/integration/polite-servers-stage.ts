// The set-up shared by `polite-servers.test.ts` and `slow/polite-servers.test.ts`.

import { gzipSync } from 'node:zlib';
import { HostServers } from './host-servers.ts';

/** Second byte of the addresses; the web of no other test uses it. */
export const addressNet = 47;
export const delayMs = 20;

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}
export type Host = (path: string, origin: string, times: number) => Answer;

export const links = (...paths: string[]) =>
  paths.map((path) => `<a href="${path}">x</a>`).join('');
export const html = (body: string): Answer => ({ headers: { 'content-type': 'text/html' }, body });
export const xml = (body: string): Answer => ({ headers: { 'content-type': 'text/xml' }, body });
export const text = (body: string): Answer => ({ headers: { 'content-type': 'text/plain' }, body });
export const octets = (body: string): Answer => {
  return { headers: { 'content-type': 'application/octet-stream' }, body };
};
export const locs = (of: string, ...urls: string[]) =>
  urls.map((url) => `<${of}><loc>${url}</loc></${of}>`).join('');
export const site = (robots: Answer): Host => {
  return (path) => (path === '/robots.txt' ? robots : html(path === '/' ? links('/a', '/b') : ''));
};

export const names = [
  ...(['gone', 'forbidden', 'broken', 'limited', 'slow', 'moved', 'circle', 'busy'] as const),
  ...(['mapped', 'told', 'trap', 'repeating', 'indexed', 'lists'] as const),
];
export type HostName = (typeof names)[number];

export const hosts: Readonly<Record<HostName, Host>> = {
  gone: site({ status: 410 }),
  forbidden: site({ status: 403 }),
  broken: site({ status: 500 }),
  limited: site({ status: 429 }),
  slow: site({ body: 'User-agent: *\nCrawl-delay: 0.4\nDisallow: /b' }),
  moved: (path) => {
    const hop = Number(/^\/robots(\d)$/.exec(path)?.[1] ?? (path === '/robots.txt' ? 0 : 9));
    if (hop < 5) return { status: 302, headers: { location: `/robots${hop + 1}` } };
    if (hop === 5) return { body: 'User-agent: *\nDisallow: /b' };
    return html(path === '/' ? links('/a', '/b') : '');
  },
  circle: (path) => {
    if (path === '/robots.txt') return { status: 301, headers: { location: '/robots.txt' } };
    return html(path === '/' ? links('/a', '/b') : '');
  },
  busy: (path, _, times) => {
    if (path === '/robots.txt') return { status: 404 };
    const refused = path === '/a' && times === 1;
    if (refused) return { status: 503, headers: { 'retry-after': '1' } };
    return html(path === '/' ? links('/a', '/b') : '');
  },
  mapped: (path, origin) => {
    if (path === '/robots.txt') return { body: 'Sitemap: /index.xml\nSitemap: /list' };
    if (path === '/index.xml') {
      const files = locs('sitemap', `${origin}/1.xml.gz`, `${origin}/feed`);
      return xml(`<sitemapindex>${files}</sitemapindex>`);
    }
    if (path === '/1.xml.gz') {
      const urls = locs('url', `${origin}/packed`, 'http://192.0.2.1/elsewhere');
      const headers = { 'content-type': 'application/gzip' };
      return { headers, body: gzipSync(`<urlset>${urls}</urlset>`) };
    }
    if (path === '/feed')
      return xml(`<rss><channel><item><link>/fed</link></item></channel></rss>`);
    if (path === '/list')
      return { headers: { 'content-type': 'text/plain' }, body: `${origin}/listed` };
    return html('');
  },
  told: (path, origin) => {
    if (path === '/robots.txt') return { status: 404 };
    return path === '/told.xml' ? xml(`<urlset>${locs('url', `${origin}/x`)}</urlset>`) : html('');
  },
  indexed: (path, origin) => {
    if (path === '/robots.txt') return { body: 'Sitemap: /moved' };
    if (path === '/moved') return { status: 301, headers: { location: '/index' } };
    if (path === '/index') {
      const files = [`${origin}/list`, `${origin}/odd`, `${web.origin('lists')}/moved`];
      return octets(`<sitemapindex>${locs('sitemap', ...files)}</sitemapindex>`);
    }
    if (path === '/list') return text(`${origin}/listed`);
    if (path === '/odd') return octets(`<urlset>${locs('url', `${origin}/odd-listed`)}</urlset>`);
    return html('');
  },
  lists: (path, origin) => {
    if (path === '/robots.txt') return { status: 404 };
    if (path === '/moved') return { status: 302, headers: { location: '/large' } };
    return path === '/large' ? text(`${'# '.repeat(20_000)}\n${origin}/far-listed`) : html('');
  },
  trap: (path) => {
    if (path === '/robots.txt') return { status: 404 };
    const n = Number(path.slice(1));
    return html(
      `${links('/same')}${'the same words again '.repeat(20)}${links(`/${n + 1}`, `/${n + 2}`)}`,
    );
  },
  repeating: (path) => (path === '/robots.txt' ? { status: 404 } : html(links(`${path}a/b/`))),
};

export const web = new HostServers(addressNet, names, ({ host, path }, response) => {
  const times = web.asked(host).filter((one) => one === path).length;
  const { status = 200, headers = {}, body = '' } = hosts[host](path, web.origin(host), times);
  response.writeHead(status, headers).end(body);
});
