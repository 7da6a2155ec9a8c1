// Servers that say how they want to be crawled, crawled by the real command: their robots.txt with
// its statuses, redirects, Crawl-delay and sitemaps, their Retry-After, and a host that repeats
// itself. The server keeps a log of its own, by which the crawl is judged.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { run, Scratch, start, until, untilAsked } from './cli-process.ts';
import { blurMs, HostServers } from './host-servers.ts';

/** Second byte of the addresses: no other test's web has it. */
const addressNet = 47;
const delayMs = 20;

interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}
type Host = (path: string, origin: string, times: number) => Answer;

const links = (...paths: string[]) => paths.map((path) => `<a href="${path}">x</a>`).join('');
const html = (body: string): Answer => ({ headers: { 'content-type': 'text/html' }, body });
const xml = (body: string): Answer => ({ headers: { 'content-type': 'text/xml' }, body });
const text = (body: string): Answer => ({ headers: { 'content-type': 'text/plain' }, body });
const octets = (body: string): Answer => {
  return { headers: { 'content-type': 'application/octet-stream' }, body };
};
const locs = (of: string, ...urls: string[]) =>
  urls.map((url) => `<${of}><loc>${url}</loc></${of}>`).join('');
const site = (robots: Answer): Host => {
  return (path) => (path === '/robots.txt' ? robots : html(path === '/' ? links('/a', '/b') : ''));
};

const names = [
  ...(['gone', 'forbidden', 'broken', 'limited', 'slow', 'moved', 'circle', 'busy'] as const),
  ...(['mapped', 'told', 'trap', 'repeating', 'indexed', 'lists'] as const),
];
type HostName = (typeof names)[number];

const hosts: Readonly<Record<HostName, Host>> = {
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

const web = new HostServers(addressNet, names, ({ host, path }, response) => {
  const times = web.asked(host).filter((one) => one === path).length;
  const { status = 200, headers = {}, body = '' } = hosts[host](path, web.origin(host), times);
  response.writeHead(status, headers).end(body);
});

describe('polite servers', () => {
  before(() => web.start());
  after(() => web.stop());

  async function crawl(scratch: Scratch, of: readonly HostName[], more: object = {}) {
    const seeds = of.map((name) => `${web.origin(name)}/${name === 'trap' ? '0' : ''}`);
    const config = await scratch.config(2, {
      seeds,
      scope: { hosts: of.map((name) => web.addressOf(name)) },
      limits: { stalePages: 60, depthPerHost: 200, repeatedSegments: 3 },
      politeness: { hostDelayMs: delayMs },
      archive: { warc: false },
      ...more,
    });
    const { code, stderr } = await run('launch', config);
    assert.equal(code, 0, stderr);
    return async (sql: string) => {
      const { stdout } = await run('query', config, sql, '--format', 'json');
      return JSON.parse(stdout) as Record<string, unknown>[];
    };
  }

  test('robots.txt by status, redirects, Crawl-delay, Retry-After, sitemaps and traps', async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const others: readonly HostName[] = ['broken', 'limited', 'indexed', 'lists'];
    const finite = names.filter((name) => !others.includes(name));
    const query = await crawl(scratch, finite, { sitemaps: [`${web.origin('told')}/told.xml`] });

    for (const name of ['gone', 'forbidden', 'circle'] as const) {
      assert.deepEqual(new Set(web.asked(name)), new Set(['/robots.txt', '/', '/a', '/b']), name);
    }
    assert.deepEqual(web.asked('slow'), ['/robots.txt', '/', '/a']);
    web.assertPolite('slow', 400);
    assert.equal(web.asked('moved').filter((path) => path.startsWith('/robots')).length, 6);
    assert.ok(!web.asked('moved').includes('/b'), 'the rules came by the fifth redirect');
    const [refused] = web.log.filter(({ host, path }) => host === 'busy' && path === '/a');
    const next = web.log.find(({ host, start }) => host === 'busy' && start > refused!.start)!;
    assert.ok(next.start - refused!.end >= 1000 - blurMs, 'Retry-After holds the host');
    assert.equal(web.asked('busy').filter((path) => path === '/a').length, 2);

    const wanted = ['/index.xml', '/list', '/1.xml.gz', '/feed', '/packed', '/fed', '/listed'];
    for (const path of wanted) assert.ok(web.asked('mapped').includes(path), path);
    assert.deepEqual(web.asked('told').toSorted(), ['/', '/robots.txt', '/told.xml', '/x']);
    const [packed] = await query("SELECT referrer FROM pages WHERE url LIKE '%/packed'");
    assert.equal(packed!.referrer, `${web.origin('mapped')}/1.xml.gz`);

    const trapped = await query("SELECT url FROM skipped WHERE reason = 'trap'");
    assert.ok(trapped.some(({ url }) => String(url).startsWith(web.origin('trap'))));
    assert.equal(web.asked('repeating').at(-1), '/a/b/a/b/a/b/');
    const events = await query("SELECT detail FROM events WHERE kind = 'trap'");
    assert.ok(events.length > 0, 'it is told of');
    for (const name of finite) web.assertPolite(name, delayMs);
  });

  test('files that an index names, and sitemaps behind redirects, are read as sitemaps', async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const of = ['indexed', 'lists'] as const;
    const seeds = [`${web.origin('indexed')}/`];
    const query = await crawl(scratch, of, { seeds, limits: { bodyBytes: 4096 } });
    const agents = await query('SELECT DISTINCT agent FROM pages');
    assert.equal(agents.length, 2, 'each agent has one of the hosts');
    const mapped = ['/moved', '/index', '/list', '/odd', '/listed', '/odd-listed'];
    assert.deepEqual(web.asked('indexed').toSorted(), ['/', '/robots.txt', ...mapped].toSorted());
    const far = ['/robots.txt', '/moved', '/large', '/far-listed'];
    assert.deepEqual(web.asked('lists').toSorted(), far.toSorted());
    const whole = await query("SELECT bytes, error FROM pages WHERE url LIKE '%/large'");
    assert.deepEqual(
      whole.map(({ bytes, error }) => ({ whole: Number(bytes) > 40_000, error })),
      [{ whole: true, error: null }],
    );
  });

  test('a sitemap in the config is enough to start from', async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const before = web.asked('told').length;
    const map = `${web.origin('told')}/told.xml`;
    const query = await crawl(scratch, [], { sitemaps: [map], scope: {} });
    assert.deepEqual(web.asked('told').slice(before), ['/robots.txt', '/told.xml', '/x']);
    const pages = await query('SELECT url, referrer FROM pages ORDER BY url');
    const found = { url: `${web.origin('told')}/x`, referrer: map };
    assert.deepEqual(pages, [{ url: map, referrer: null }, found]);
  });

  test('robots.txt that is out of order, or comes with 429, shuts the host for now', async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const shut = ['broken', 'limited'] as const;
    const config = await scratch.config(1, {
      seeds: shut.map((name) => `${web.origin(name)}/`),
      politeness: { hostDelayMs: delayMs },
    });
    const launch = start(['launch', config]);
    await until('both were asked', () => shut.every((name) => web.asked(name).length > 0));
    await untilAsked('both are known to be unreachable', async () => {
      const { stdout } = await run('query', config, 'SELECT robots FROM hosts', '--format', 'json');
      return stdout.match(/unreachable/g)?.length === 2;
    });
    await run('stop', config);
    assert.equal((await launch.ended).code, 11);
    for (const name of shut) assert.deepEqual(new Set(web.asked(name)), new Set(['/robots.txt']));
    const { stdout } = await run('query', config, 'SELECT url FROM frontier', '--format', 'json');
    assert.equal(JSON.parse(stdout).length, 2, 'its pages wait');
  });
});
