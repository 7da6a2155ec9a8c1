// A suspended agent neither exits nor answers. The launch must not wait for it once no work is left
// or the crawl is stopped.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWeb } from '../../web/server.ts';
import { run, Scratch, start, until, untilAsked } from '../cli-process.ts';

/** Second byte of the loopback addresses; the web of no other test uses it. */
const net = 43;

test('launch: kills a suspended agent after all agents were told to stop', async () => {
  const web = await startWeb({ hosts: 6, pages: 12, port: 0, net, sparse: true });
  const scratch = new Scratch();
  try {
    // The delay is long enough that the crawl cannot end during the test.
    const politeness = { hostDelayMs: 5000 };
    const config = await scratch.config(2, { seeds: [web.seed], politeness });
    const launch = start(['launch', config]);
    await until('both agents', () => ['a1', 'a2'].every((id) => scratch.pid(id) !== null));
    await until('a request', () => web.requests().length > 0);
    process.kill(scratch.pid('a2')!, 'SIGSTOP');
    const stopped = await run('stop', config);
    assert.match(stopped.stdout, /^a1: applied$/m);
    const { code, stdout, stderr } = await launch.ended;
    assert.equal(code, 11, stderr);
    assert.match(stderr, /a2 is suspended and has nothing left to do: killed/);
    assert.match(stdout, /^a1 .* interrupted$[\s\S]*^a2 .* killed \(SIGKILL\)$/m);
  } finally {
    scratch.clean();
    await web.stop();
  }
});

test('launch: a suspended agent with work of its own is not killed, and completes the crawl', async () => {
  const web = await startWeb({ hosts: 6, pages: 12, port: 0, net, sparse: true });
  const scratch = new Scratch();
  try {
    const politeness = { hostDelayMs: 150 };
    const config = await scratch.config(2, { seeds: [web.seed], politeness }, { backups: 0 });
    const launch = start(['launch', config]);
    await untilAsked('work of a2', async () => {
      const { stdout } = await run('status', config, '--json');
      const { agents = [] } = JSON.parse(stdout || '{}') as { agents?: Queued[] };
      return agents.some(({ id, queued }) => id === 'a2' && queued > 3);
    });
    process.kill(scratch.pid('a2')!, 'SIGSTOP');
    const ended =
      /a1 ended \(11\); 1 agent of this launch continues; to start it again: ubiring agent/;
    await until('the end of a1', () => ended.test(launch.stderr()));
    assert.match(launch.stderr(), /running agents still have\\n {2}a2: \d+ queued URL/);
    process.kill(scratch.pid('a2')!, 'SIGCONT');
    const { code, stdout, stderr } = await launch.ended;
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^a1 .* unfinished$[\s\S]*^a2 .* complete$/m);
    assert.equal((await run('audit', config)).code, 0);
  } finally {
    scratch.clean();
    await web.stop();
  }
});

interface Queued {
  readonly id: string;
  readonly queued: number;
}
