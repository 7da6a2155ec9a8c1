// Hosts whose robots.txt is that of another host, crawled by the real command with several agents: the
// other's rules are obeyed whoever owns it, only its owner asks it, and circles hold nobody up.

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { UrlReport } from '../../agent/cli/explain/explain-text.ts';
import type { ClusterStatus } from '../../agent/cli/status/status-command.ts';
import { run, Scratch, start, until } from './cli-process.ts';
import { HostServers } from './host-servers.ts';
import { addressNet } from './robots-elsewhere-stage.ts';

test('who waits for another host’s robots.txt says so, and for what', async (t) => {
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
  await until('the other host is asked', () => held.length > 0);

  const robotsOf = async (url: string) => {
    const { stdout } = await run('explain', config, url, '--json');
    return (JSON.parse(stdout) as UrlReport).filters.at(-1)!;
  };
  const file = `${web.origin('slow')}/robots.txt`;
  const open = { filter: 'robots', passes: null, why: 'robots.txt is being requested' };
  assert.deepEqual(await robotsOf(file), open);
  assert.deepEqual(await robotsOf(`${web.origin('leads')}/`), {
    ...{ filter: 'robots', passes: false },
    why: `unreachable: redirected to ${file}, whose owner is asked; there: ${open.why}`,
  });
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
