// The rows T121 and T122 of the torture table, which need a whole crawl: endless sites that answer
// every URL alike or put a session into every link. The crawl must end by itself with few requests,
// and must fetch every page of other sites.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, type TestContext, test } from 'node:test';
import { patient, run, Scratch } from '../cli-process.ts';
import { HostServers } from '../host-servers.ts';

/** Second byte of the addresses; the web of no other test uses it. */
const addressNet = 48;
const delayMs = 2;
const pages = 40;
const stalePages = 120;
/** More than the limit after which a trap is abandoned. */
const stubs = 150;

const names = ['soft', 'relative', 'numbered', 'session', 'honest', 'stubs'] as const;
type HostName = (typeof names)[number];

const notFound = 'Sorry, the page that you are looking for is not here any more. '.repeat(5);
const link = (href: string) => `<a href="${href}">x</a>`;
/** The words of a page, which differ from those of other pages. */
const pageOf = (at: number) => Array.from({ length: 60 }, (_, k) => `w${(at + 1) * (k + 7)}`);

const pathsOf = (count: number) => Array.from({ length: count }, (_, at) => `/${at}`);

/** @param times - number of requests to this host so far, which makes every answer different */
const sites: Readonly<Record<HostName, (url: URL, times: number) => string>> = {
  soft: (_, times) => `${notFound}${link(`/r${times * 2}`)}${link(`/r${times * 2 + 1}`)}`,
  relative: () => `${notFound}${link('deeper/')}`,
  numbered: (url, times) => {
    const id = createHash('md5').update(String(times)).digest('hex');
    return `<p>${url.pathname} was not found here. Request ${id}.</p>${link(`/r${times}`)}`;
  },
  session: (url, times) => {
    const at = Number(url.pathname.slice(1));
    const next = [(at + 1) % pages, (at * 2) % pages];
    const session = times.toString(16).padStart(26, '0');
    const links = next.map((to) => link(`/${to}?PHPSESSID=${session}`));
    return pageOf(at).join(' ') + links.join('');
  },
  honest: (url) => {
    const at = Number(url.pathname.slice(1));
    return pageOf(at).join(' ') + (at + 1 < pages ? link(`/${at + 1}`) : '');
  },
  // Pages with few words that are almost the same on every page.
  stubs: (url) => {
    const at = Number(url.pathname.slice(1));
    const next = at + 1 < stubs ? link(`/${at + 1}`) : '';
    return `<h1>Item ${at}</h1><p>There is nothing to be told of number ${at} yet.</p>${next}`;
  },
};

describe('torture: traps', () => {
  const web = new HostServers(addressNet, names, ({ host, path }, response) => {
    const isRobots = path === '/robots.txt';
    response.writeHead(isRobots ? 404 : 200, { 'content-type': 'text/html' });
    const url = new URL(path, 'http://x/');
    response.end(isRobots ? '' : sites[host](url, asked(host).length));
  });
  const asked = (host: HostName) => {
    const paths = web.asked(host).map((path) => path.replace(/\?.*/, ''));
    return paths.filter((path) => path !== '/robots.txt');
  };
  before(() => web.start());
  after(() => web.stop());

  /** Crawls the hosts to the end. Returns the addresses of those that were abandoned. */
  async function crawl(t: TestContext, hosts: readonly HostName[], more: object = {}) {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    web.log.length = 0;
    const config = await scratch.config(
      1,
      {
        seeds: hosts.map((name) => `${web.origin(name)}/0`),
        limits: { stalePages, depthPerHost: 1000, repeatedSegments: 1000 },
        politeness: { hostDelayMs: delayMs },
        archive: { warc: false },
        ...more,
      },
      patient,
    );
    const { code, stderr } = await run('launch', config);
    assert.equal(code, 0, stderr);
    const sql = "SELECT host, count(*) AS n FROM skipped WHERE reason = 'trap' GROUP BY host";
    const { stdout } = await run('query', config, sql, '--format', 'json');
    const audit = await run('audit', config);
    assert.equal(audit.code, 0, audit.stdout);
    assert.deepEqual(asked('honest'), pathsOf(pages));
    return (JSON.parse(stdout) as { host: string }[]).map(({ host }) => host).toSorted();
  }

  test('T121, T122: a crawl abandons endless sites and fetches every page of the others', async (t) => {
    const trapped = await crawl(t, names);
    assert.deepEqual(asked('stubs'), pathsOf(stubs));
    assert.deepEqual(
      trapped,
      (['soft', 'relative', 'numbered', 'session'] as const).map((name) => web.addressOf(name)),
    );
    // A new text lowers the score by two, and each session revisits every page.
    for (const name of ['soft', 'relative', 'numbered'] as const) {
      assert.ok(asked(name).length <= stalePages + 3, `${name}: ${asked(name).length}`);
    }
    assert.ok(asked('session').length <= stalePages + 4 * pages, `${asked('session').length}`);
  });

  test('T122: a crawl requests each page once if the identity has no sessions', async (t) => {
    const trapped = await crawl(t, ['session', 'honest'], { urls: { dropSessions: true } });
    assert.deepEqual(trapped, []);
    assert.deepEqual(asked('session').toSorted(), pathsOf(pages).toSorted());
  });
});
