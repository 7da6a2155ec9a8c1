// `ubiring launch` on a pseudo terminal: it shows the view of `top` as a block, and obeys its keys.
// Without one, it prints lines.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { run, Scratch, start, until } from './cli-process.ts';
import { startGate } from './gate-server.ts';
import { noTerminal, Terminal } from './terminal.ts';

const skip = noTerminal;

async function stageOf(t: TestContext, how: 'foreground' | 'background' = 'foreground') {
  const scratch = new Scratch();
  const gate = await startGate();
  const config = await scratch.config(2, { seeds: [gate.seed] });
  const terminal = new Terminal(['launch', config], how);
  t.after(async () => {
    terminal.end();
    scratch.clean();
    await gate.stop();
  });
  const shows = (what: RegExp) => until(String(what), () => what.test(terminal.block));
  await shows(
    /^ubiring launch {2}cli-test .*2 of 2 agents[\s\S]*^a1 +(crawling|idle) .*\na2 +(crawling|idle) /m,
  );
  return { scratch, gate, terminal, shows };
}

test('launch on a terminal: keys, and q stops the agents as Ctrl-C does', { skip }, async (t) => {
  const { terminal, shows } = await stageOf(t);
  await shows(/^h help {2}p pause or resume .* q stop$/m);
  terminal.press('/a2\r');
  await shows(/^agent .*\na2 /m);
  terminal.press('\u001b');
  await shows(/^a1 /m);
  await until('the dashboard', () => terminal.output.includes('dashboard: http'));
  terminal.press('o');
  await shows(/^dashboard: http:\/\/127\.0\.0\.1:\d+\/$/m);
  terminal.press('p');
  await shows(/^a1 +paused .*\na2 +paused /m);
  terminal.press('q');
  // The request at the gate is never answered: it needs the second signal.
  await until('the stop', () => terminal.output.includes('stopping: waiting for open requests'));
  terminal.press('\u0003');
  await until('the end', () => terminal.isRestored);
  assert.equal(terminal.said('code'), '11');
  assert.match(terminal.output, /interrupted; run launch again to continue/);
});

test('launch on a terminal: names a dead agent, and ends with the crawl', { skip }, async (t) => {
  const { scratch, gate, terminal, shows } = await stageOf(t);
  process.kill(scratch.pid('a2')!, 'SIGKILL');
  await shows(/^a2 +no answer$[\s\S]*^ +a2 does not answer$/m);
  gate.open();
  await until('the end', () => terminal.isRestored);
  assert.equal(terminal.said('code'), '0');
  assert.match(terminal.output, /a2 was killed \(SIGKILL\); 1 agent of this launch continues/);
  assert.match(terminal.output, /the crawl is complete\r\n/);
});

test('launch in the background of a terminal reads no keys, so it goes on', { skip }, async (t) => {
  const { gate, terminal, shows } = await stageOf(t, 'background');
  await shows(/^Ctrl-C stops the agents$/m);
  gate.open();
  await until('the end', () => terminal.isRestored);
  assert.equal(terminal.said('code'), '0');
});

test('launch of a part of the cluster says so, and where an agent serves the dashboard', async (t) => {
  const scratch = new Scratch();
  const gate = await startGate();
  t.after(async () => {
    scratch.clean();
    await gate.stop();
  });
  const more = { seeds: [gate.seed], monitor: { listen: '127.0.0.1:0' } };
  const config = await scratch.config(2, more);
  const launch = start(['launch', config, '--agents', 'a1']);
  const served = /^dashboard: (http:\/\/127\.0\.0\.1:\d+\/), served by a1$/m;
  await until('the dashboard is served', () => served.test(launch.stderr()));
  assert.match(launch.stderr(), /^cli-test: 1 of 2 agents, state in /m);
  const { stdout } = await run('status', config);
  const [, url] = served.exec(launch.stderr())!;
  assert.ok(stdout.includes(`dashboards, each of the whole cluster:\n  a1  ${url}\n`), stdout);
  launch.child.kill('SIGTERM');
  launch.child.kill('SIGINT');
  assert.equal((await launch.ended).code, 11, launch.stderr());
});
