// `ubiring top` of two real agents, whose crawl waits at a gate: as lines, as JSON, and in place on a
// pseudo terminal.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { Problem } from '../../agent/cli/top/problems.ts';
import type { AgentStatus } from '../../agent/monitor/agent-status.ts';
import { run, Scratch, start, until, untilAsked, untilJoined } from './cli-process.ts';
import { startGate } from './gate-server.ts';
import { noTerminal, Terminal } from './terminal.ts';

/** The config of one agent whose seed is on a server with this listener. */
async function oneHost(t: TestContext, listener: RequestListener): Promise<string> {
  const scratch = new Scratch();
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    scratch.clean();
    server.close().closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const seeds = [`http://127.0.0.1:${port}/`];
  return scratch.config(1, { seeds, politeness: { hostDelayMs: 5 } });
}

async function clusterOf(t: TestContext) {
  const scratch = new Scratch();
  const gate = await startGate();
  t.after(async () => {
    scratch.clean();
    await gate.stop();
  });
  const config = await scratch.config(2, { seeds: [gate.seed] });
  const launch = start(['launch', config]);
  await untilJoined(config, 'a1', 'a2');
  return { scratch, gate, config, launch };
}

test('top without a terminal prints a line or a JSON object for each frame, to the end', async (t) => {
  const { gate, config, launch } = await clusterOf(t);
  const lines = await run('top', config, '--count', '2');
  assert.equal(lines.code, 0, lines.stderr);
  assert.match(lines.stdout, /^(agents 2\/2, hosts \d, pages 0 \(0\.0\/s\), queue \d.*\n){2}$/);
  const { code, stdout } = await run('top', config, '--json', '--count', '1');
  assert.equal(code, 0);
  const { agents, totals, problems, failures, at } = JSON.parse(stdout);
  assert.deepEqual(
    agents.map(({ id }: AgentStatus) => id),
    ['a1', 'a2'],
  );
  assert.deepEqual([totals.alive, totals.total, failures], [2, 2, {}]);
  // The agents may be late on a busy machine.
  assert.ok(Array.isArray(problems));
  assert.ok(Number.isInteger(at));

  const toTheEnd = run('top', config);
  gate.open();
  const [watched] = await Promise.all([toTheEnd, launch.ended]);
  assert.equal(watched.code, 0, watched.stderr);
  assert.match(watched.stdout, /the crawl was completed at .* with agents a1, a2\n$/);
});

test('top names hosts that wait for robots.txt, and a block ends the wait', async (t) => {
  const config = await oneHost(t, (_, response) => void response.writeHead(503).end());
  const launch = start(['launch', config]);
  await untilAsked('the problem', async () => {
    const { stdout } = await run('top', config, '--json', '--count', '1');
    const { problems = [], failures = {} } = JSON.parse(stdout || '{}');
    const text = /^1 host waits for robots\.txt: .* block .*crawl\.json HOST$/;
    const all = problems.map((one: Problem) => `${one.text} ${one.remedy}`);
    return all.some((one: string) => text.test(one)) && failures['5xx'] > 0;
  });
  assert.equal((await run('block', config, '127.0.0.1')).code, 0);
  assert.equal((await launch.ended).code, 0);
});

test('top names a host whose pages repeat, and a block of it ends the crawl', async (t) => {
  let served = 0;
  const config = await oneHost(t, (_, response) => {
    const links = Array.from({ length: 20 }, () => `<a href="/${++served}">x</a>`);
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(`<p>${'Nothing else is here, on any of these pages. '.repeat(9)}</p>${links}`);
  });
  const launch = start(['launch', config]);
  await untilAsked('the problem', async () => {
    const { stdout } = await run('top', config, '--json', '--count', '1');
    const { problems = [] } = JSON.parse(stdout || '{}');
    const text = /^1 host repeats its pages, .*slowed.* 127\.0\.0\.1 .* block .*crawl\.json 127\./;
    return problems.some(({ text: cause, remedy }: Problem) => text.test(`${cause} ${remedy}`));
  });
  assert.equal((await run('block', config, '127.0.0.1')).code, 0);
  assert.equal((await launch.ended).code, 0);
});

test('top ends with 1 if no agent answers, and refuses a count of 0', async (t) => {
  const scratch = new Scratch();
  t.after(() => scratch.clean());
  const config = await scratch.config(1);
  const { code, stdout, stderr } = await run('top', config, '--json');
  assert.equal(code, 1);
  assert.match(stderr, /no agent answers/);
  assert.equal(JSON.parse(stdout).error.code, 1);
  assert.equal((await run('top', config, '--count', '0')).code, 2);
});

test('top on a terminal: keys, a resize, SIGTERM', { skip: noTerminal }, async (t) => {
  const { config } = await clusterOf(t);
  const terminal = new Terminal(['top', config]);
  t.after(() => terminal.end());
  const shows = (what: RegExp) => until(String(what), () => what.test(terminal.frame));
  await shows(/^a1 .*\na2 .*\nall [\s\S]*^errors .*\n[\s\S]*^h help/m);

  terminal.press('p');
  await shows(
    /^a1 +paused .*\na2 +paused [\s\S]*the crawl is paused\n +resume it: ubiring resume/m,
  );
  const { agents } = JSON.parse((await run('status', config, '--json')).stdout);
  assert.ok(agents.every(({ paused }: AgentStatus) => paused));
  terminal.press('p');
  await shows(/^resume: applied by 2 of 2 agents/m);
  await shows(/^a1 +(?!paused)(?![\s\S]*the crawl is paused)/m);

  terminal.press('/a2\r');
  await shows(/^agent .*\na2 [\s\S]*^filter: a2; Esc/m);
  terminal.press('\u001b');
  await shows(/^a1 /m);
  terminal.press('h');
  await shows(/^Esc +shows all again/m);
  terminal.press('ho');
  await shows(/^no agent serves a dashboard \(monitor\.listen\)/m);
  terminal.resize(30, 200);
  await shows(/^ubiring top {2}cli-test {100,}2 of 2 agents[\s\S]*unsettled/m);

  process.kill(Number(terminal.said('pid')), 'SIGTERM');
  await until('the end', () => terminal.isRestored);
  assert.equal(terminal.said('code'), '0');
  assert.match(terminal.output, /\[\?7h.\[\?25h.\[\?1049l/);
});

for (const [name, key] of [
  ['q', 'q'],
  ['Ctrl-C', '\u0003'],
] as const) {
  test(`top on a terminal: ${name} quits; a dead agent is a problem with its remedy`, {
    skip: noTerminal,
  }, async (t) => {
    const { scratch, config } = await clusterOf(t);
    const terminal = new Terminal(['top', config]);
    t.after(() => terminal.end());
    process.kill(scratch.pid('a2')!, 'SIGKILL');
    const problem =
      /^a2 +no answer$[\s\S]*a2 does not answer\n[\s\S]* agent\s.*crawl\.json\s+--id\s+a2/m;
    await until('the problem', () => problem.test(terminal.frame));
    await until('too few copies', () => /has 0 of 1 copies/.test(terminal.frame));
    start(['agent', config, '--id', 'a2']);
    const solved = /^a2 +(crawling|idle) (?![\s\S]*(a2 does not answer|has 0 of 1))/m;
    await until('the return of a2', () => solved.test(terminal.frame));
    terminal.press(key);
    await until('the end', () => terminal.isRestored);
    assert.equal(terminal.said('code'), '0');
  });
}
