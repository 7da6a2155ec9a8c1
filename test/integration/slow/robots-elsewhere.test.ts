// Hosts that redirect their robots.txt to another host, crawled by several agents. The rules of the
// other host are obeyed, only its owner requests them, and redirect circles do not block the crawl.

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, test } from 'node:test';
import type { UrlReport } from '../../../agent/cli/explain/explain-text.ts';
import type { ClusterStatus } from '../../../agent/cli/status/status-command.ts';
import { run, Scratch, start, until } from '../cli-process.ts';
import { HostServers } from '../host-servers.ts';

/** Second byte of the addresses; the web of no other test uses it. */
const addressNet = 49;
const delayMs = 20;

const users = ['user1', 'user2', 'user3', 'user4'] as const;
const names = [...users, 'main', 'chain', 'left', 'right', 'away', 'outside'] as const;
type HostName = (typeof names)[number];

/** For each host, the host to which its robots.txt redirects. */
const leads: Partial<Readonly<Record<HostName, HostName>>> = {
  ...{ user1: 'main', user2: 'main', user3: 'main', user4: 'main' },
  ...{ chain: 'user1', left: 'right', right: 'left', away: 'outside' },
};

describe('a robots.txt that redirects to another host', () => {
  const answer = (name: HostName, path: string, response: ServerResponse): void => {
    const to = leads[name];
    if (path !== '/robots.txt') {
      const body = path === '/' ? '<a href=/open>x</a><a href=/closed>x</a>' : '';
      response.writeHead(200, { 'content-type': 'text/html' }).end(body);
    } else if (to === undefined) response.end('User-agent: *\nDisallow: /closed');
    else response.writeHead(301, { location: `${web.origin(to)}/robots.txt` }).end();
  };
  const web = new HostServers(addressNet, names, ({ host, path }, response) =>
    answer(host, path, response),
  );
  before(() => web.start());
  after(() => web.stop());

  test('a redirected robots.txt is obeyed even if another agent owns the target host', async (t) => {
    const scratch = new Scratch();
    t.after(() => scratch.clean());
    const inScope = names.filter((name) => name !== 'outside');
    const config = await scratch.config(3, {
      // Only robots.txt redirects lead to the host with the rules.
      seeds: inScope.filter((name) => name !== 'main').map((name) => `${web.origin(name)}/`),
      // Excluding robots.txt from the scope does not affect the rules.
      scope: { hosts: inScope.map((name) => web.addressOf(name)), exclude: ['[.]txt$'] },
      politeness: { hostDelayMs: delayMs },
      archive: { warc: false },
    });
    const { code, stderr } = await run('launch', config);
    assert.equal(code, 0, stderr);

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

    const explain = async (name: HostName, path: string) => {
      const { stdout } = await run('explain', config, `${web.origin(name)}${path}`, '--json');
      const { owner, filters } = JSON.parse(stdout) as {
        owner: string;
        filters: { filter: string; passes: boolean; why: string }[];
      };
      return { owner, ...filters.find(({ filter }) => filter === 'robots')! };
    };
    const told = new RegExp(
      `^Disallow: /closed, .*redirected to ${web.origin('main')}/robots.txt, reported by (a[123])$`,
    );
    const tellers: boolean[] = [];
    for (const name of [...users, 'chain'] as const) {
      const { owner, passes, why } = await explain(name, '/closed');
      assert.equal(passes, false, why);
      assert.match(why, told);
      tellers.push(told.exec(why)![1] === owner);
    }
    assert.ok(tellers.includes(false), 'another agent reported some of the rules');
    assert.match(
      (await explain('left', '/closed')).why,
      /^no rules: redirected to .*(circle|reported by)/,
    );
    assert.equal(
      (await explain('away', '/closed')).why,
      `no rules: redirected to ${web.origin('outside')}/robots.txt, out of scope`,
    );
    const main = await run('explain', config, `${web.origin('main')}/robots.txt`, '--json');
    const { chain, filters } = JSON.parse(main.stdout) as UrlReport;
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

test('explain and status show that a host waits for the robots.txt of another host', async (t) => {
  const held: ServerResponse[] = [];
  let isOpen = false;
  const web = new HostServers(addressNet + 1, ['leads', 'slow'], ({ host, path }, response) => {
    if (path !== '/robots.txt') response.end();
    else if (host === 'slow') {
      if (isOpen) response.writeHead(404).end();
      else held.push(response);
    } else response.writeHead(301, { location: `${web.origin('slow')}/robots.txt` }).end();
  });
  await web.start();
  const scratch = new Scratch();
  t.after(() => {
    scratch.clean();
    web.stop();
  });
  const config = await scratch.config(2, { seeds: [`${web.origin('leads')}/`] });
  const launch = start(['launch', config]);
  await until('a request to the other host', () => held.length > 0);

  const reportOn = async (url: string) =>
    JSON.parse((await run('explain', config, url, '--json')).stdout) as UrlReport;
  const robotsOf = async (url: string) => (await reportOn(url)).filters.at(-1)!;
  const file = `${web.origin('slow')}/robots.txt`;
  const open = { filter: 'robots', passes: null, why: 'robots.txt is being requested' };
  assert.deepEqual(await robotsOf(file), open);
  assert.deepEqual(await robotsOf(`${web.origin('leads')}/`), {
    ...{ filter: 'robots', passes: false },
    why: `unreachable: redirected to ${file}, whose owner is asked; there: ${open.why}`,
  });
  const { stored } = await reportOn(`${web.origin('leads')}/`);
  assert.deepEqual(stored?.wait, { kind: 'event', why: 'robots' });
  const { stdout } = await run('status', config, '--json');
  const { agents } = JSON.parse(stdout) as ClusterStatus;
  assert.equal(agents.length, 2);
  assert.equal(
    agents.reduce((sum, { hostsAwaitingRobots }) => sum + hostsAwaitingRobots, 0),
    1,
    stdout,
  );

  isOpen = true;
  for (const response of held) response.writeHead(404).end();
  const { code, stderr } = await launch.ended;
  assert.equal(code, 0, stderr);
  assert.deepEqual(web.asked('leads'), ['/robots.txt', '/']);
});
