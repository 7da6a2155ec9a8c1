// Hosts that redirect their robots.txt to another host, crawled by several agents. The rules of the
// other host are obeyed, only its owner requests them, and redirect circles do not block the crawl.

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, test } from 'node:test';
import type { UrlReport } from '../../../agent/cli/explain/explain-text.ts';
import type { ClusterStatus } from '../../../agent/cli/status/status-command.ts';
import { patient, type Running, run, Scratch, start, until, untilAsked } from '../cli-process.ts';
import { HostServers } from '../host-servers.ts';

/** Second byte of the addresses; the web of no other test uses it. */
const addressNet = 49;
const delayMs = 20;

const users = ['user1', 'user2', 'user3', 'user4'] as const;
const names = [
  ...users,
  ...(['main', 'chain', 'left', 'right', 'away', 'outside', 'waiting', 'slow'] as const),
] as const;
type HostName = (typeof names)[number];

/** For each host, the host to which its robots.txt redirects. */
const leads: Partial<Readonly<Record<HostName, HostName>>> = {
  ...{ user1: 'main', user2: 'main', user3: 'main', user4: 'main' },
  ...{ chain: 'user1', left: 'right', right: 'left', away: 'outside', waiting: 'slow' },
};

describe('a robots.txt that redirects to another host', () => {
  /** Requests for the robots.txt of `slow`, which keep the crawl from its end. */
  const held: ServerResponse[] = [];
  let isOpen = false;
  const answer = (name: HostName, path: string, response: ServerResponse): void => {
    const to = leads[name];
    if (path !== '/robots.txt') {
      const body = path === '/' ? '<a href=/open>x</a><a href=/closed>x</a>' : '';
      response.writeHead(200, { 'content-type': 'text/html' }).end(body);
    } else if (name === 'slow') {
      if (isOpen) response.writeHead(404).end();
      else held.push(response);
    } else if (to === undefined) response.end('User-agent: *\nDisallow: /closed');
    else response.writeHead(301, { location: `${web.origin(to)}/robots.txt` }).end();
  };
  const web = new HostServers(addressNet, names, ({ host, path }, response) =>
    answer(host, path, response),
  );
  const scratch = new Scratch();
  let config: string;
  let launch: Running;
  before(async () => {
    await web.start();
    const inScope = names.filter((name) => name !== 'outside');
    config = await scratch.config(
      3,
      {
        // Only robots.txt redirects lead to the hosts with the rules.
        seeds: inScope
          .filter((name) => name !== 'main' && name !== 'slow')
          .map((name) => `${web.origin(name)}/`),
        // Excluding robots.txt from the scope does not affect the rules.
        scope: { hosts: inScope.map((name) => web.addressOf(name)), exclude: ['[.]txt$'] },
        politeness: { hostDelayMs: delayMs },
        archive: { warc: false },
        // On a busy machine too, the held request is open while commands ask about it.
        http: {
          ...{ userAgent: 'cli-test (+https://example.org/)', allowPrivateAddresses: true },
          timeouts: { responseMs: '120s', totalMs: '120s' },
        },
      },
      patient,
    );
    launch = start(['launch', config]);
  });
  after(() => {
    scratch.clean();
    web.stop();
  });

  const reportOn = async (url: string) =>
    JSON.parse((await run('explain', config, url, '--json')).stdout) as UrlReport;
  const robotsOf = async (url: string) =>
    (await reportOn(url)).filters.find(({ filter }) => filter === 'robots')!;

  test('explain and status show that a host waits for the robots.txt of another host', async () => {
    await until('a request to the other host', () => held.length > 0);
    const file = `${web.origin('slow')}/robots.txt`;
    const page = `${web.origin('waiting')}/`;
    const open = { filter: 'robots', passes: null, why: 'robots.txt is being requested' };
    assert.deepEqual(await robotsOf(file), open);
    assert.deepEqual(await robotsOf(page), {
      ...{ filter: 'robots', passes: false },
      why: `unreachable: redirected to ${file}, whose owner is asked; there: ${open.why}`,
    });
    const { stored } = await reportOn(page);
    assert.deepEqual(stored?.wait, { kind: 'event', why: 'robots' });
    await untilAsked('status: this host alone waits', async () => {
      const { stdout } = await run('status', config, '--json');
      const { agents } = JSON.parse(stdout) as ClusterStatus;
      assert.equal(agents.length, 3);
      return agents.reduce((sum, { hostsAwaitingRobots }) => sum + hostsAwaitingRobots, 0) === 1;
    });

    isOpen = true;
    for (const response of held) response.writeHead(404).end();
    const { code, stderr } = await launch.ended;
    assert.equal(code, 0, stderr);
    assert.deepEqual(web.asked('waiting'), ['/robots.txt', '/', '/open', '/closed']);
  });

  test('a redirected robots.txt is obeyed even if another agent owns the target host', async () => {
    for (const name of [...users, 'chain'] as const) {
      assert.deepEqual(new Set(web.asked(name)), new Set(['/robots.txt', '/', '/open']), name);
    }
    assert.deepEqual(new Set(web.asked('main')), new Set(['/robots.txt']));
    // A redirect circle or a target outside the scope means that no rules apply.
    for (const name of ['left', 'right', 'away'] as const) {
      assert.ok(web.asked(name).includes('/closed'), name);
    }
    assert.deepEqual(web.asked('outside'), []);
    for (const name of names) web.assertPolite(name, delayMs);

    const told = new RegExp(
      `^Disallow: /closed, .*redirected to ${web.origin('main')}/robots.txt, reported by (a[123])$`,
    );
    const tellers: boolean[] = [];
    for (const name of [...users, 'chain'] as const) {
      const url = `${web.origin(name)}/closed`;
      const { passes, why } = await robotsOf(url);
      assert.equal(passes, false, why);
      assert.match(why, told);
      tellers.push(told.exec(why)![1] === (await reportOn(url)).owner);
    }
    assert.ok(tellers.includes(false), 'another agent reported some of the rules');
    assert.match(
      (await robotsOf(`${web.origin('left')}/closed`)).why,
      /^no rules: redirected to .*(circle|reported by)/,
    );
    assert.equal(
      (await robotsOf(`${web.origin('away')}/closed`)).why,
      `no rules: redirected to ${web.origin('outside')}/robots.txt, out of scope`,
    );
    const { chain, filters } = await reportOn(`${web.origin('main')}/robots.txt`);
    assert.ok(
      filters.every(({ passes }) => passes),
      'every filter passes, since the file was requested',
    );
    const [file, page] = chain.map(({ url }) => url);
    assert.ok(
      [...users, 'chain' as const].some((name) => file === `${web.origin(name)}/robots.txt`),
    );
    assert.equal(page, file!.replace('robots.txt', ''), 'a seed');
    assert.equal(chain.length, 2);
  });
});
