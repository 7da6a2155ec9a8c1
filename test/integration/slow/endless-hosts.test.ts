// A crawl of a plain host and of a host whose pages each link to a thousand new hosts. The waiting
// hosts must not keep the plain host from being crawled, and no agent may be suspected.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BehaviourWeb } from '../../web/behaviour-web.ts';
import { namedPerPage } from '../../web/behaviours.ts';
import { run, Scratch, start, until } from '../cli-process.ts';

/** First three bytes of the addresses; the web of no other test uses them. */
const network = '127.58.0';
const endlessPages = 8;
/** A busy machine is late by less. */
const suspectAfterMs = 15_000;

test('visits: a host that links to thousands of hosts does not delay another host', async (t) => {
  const scratch = new Scratch();
  const web = await BehaviourWeb.start(network, ['endlessHosts', 'plain']);
  t.after(() => {
    scratch.clean();
    web.stop();
  });
  const [endless, plain] = web.hosts;
  const seeds = web.hosts.map(({ origin }) => `${origin}/`);
  const failureDetector = { heartbeatMs: 100, suspectAfterMs };
  const config = await scratch.config(2, { seeds }, { failureDetector });
  const launched = start(['launch', config]);
  const pages = Object.keys(plain!.behaviour.expected({ dropTracking: false }));
  const isPlainDone = () => pages.every((page) => plain!.log.some(({ path }) => path === page));
  // The request for robots.txt, and one more page: the links of the pages before it are stored.
  const isNamed = () => endless!.log.length > endlessPages + 2;
  await Promise.race([
    launched.ended,
    until('the pages of both hosts', () => isPlainDone() && isNamed()),
  ]);
  launched.child.kill('SIGINT');
  const { code, stderr } = await launched.ended;
  assert.equal(code, 11, stderr);
  const hosts = await run('query', config, 'SELECT count(*) FROM hosts', '--format', 'json');
  const [counted] = JSON.parse(hosts.stdout) as Record<string, number>[];
  const known = Object.values(counted!)[0]!;
  assert.ok(known > (endlessPages / 2) * namedPerPage, `${known} hosts`);
  const lost = "SELECT agent, kind FROM events WHERE kind IN ('suspect', 'rejoin', 'remove')";
  const events = await run('query', config, lost, '--format', 'json');
  assert.deepEqual(JSON.parse(events.stdout), []);
  assert.equal(
    new Set(plain!.log.map(({ path }) => path)).size,
    plain!.log.length,
    'each page is requested once',
  );
});
