// `ubiring top` of two real agents, whose crawl waits at a gate: as lines, as JSON, and in place on a
// pseudo terminal.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { Problem } from '../../agent/cli/top/problems.ts';
import type { AgentStatus } from '../../agent/monitor/agent-status.ts';
import {
  type Running,
  run,
  Scratch,
  start,
  until,
  untilAsked,
  untilJoined,
} from './cli-process.ts';
import { type Gate, startGate } from './gate-server.ts';
import { noTerminal, Terminal } from './terminal.ts';

/** Starts a server at a free port of this loopback address. */
async function serverAt(t: TestContext, address: string, listener: RequestListener) {
  const server = createServer(listener);
  server.listen(0, address);
  await once(server, 'listening');
  t.after(() => server.close().closeAllConnections());
  return `http://${address}:${(server.address() as AddressInfo).port}/`;
}

/** The problems with their remedies, and the failures by kind, as one frame of top shows them. */
async function shownBy(config: string) {
  const { stdout } = await run('top', config, '--json', '--count', '1');
  const { problems = [], failures = {} } = JSON.parse(stdout || '{}');
  const all: string[] = problems.map(({ text, remedy }: Problem) => `${text} ${remedy}`);
  return { all, failures };
}

describe('top of two agents', { concurrency: 1 }, () => {
  const scratch = new Scratch();
  const agents: Running[] = [];
  let gate: Gate;
  let config: string;
  const begin = (id: string) => agents.push(start(['agent', config, '--id', id]));
  before(async () => {
    gate = await startGate();
    config = await scratch.config(2, { seeds: [gate.seed] });
    for (const id of ['a1', 'a2']) begin(id);
    await untilJoined(config, 'a1', 'a2');
  });
  after(async () => {
    scratch.clean();
    await gate.stop();
  });

  test('top without a terminal prints a line or a JSON object for each frame', async () => {
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
  });

  test('top on a terminal: keys, a resize, SIGTERM', { skip: noTerminal }, async (t) => {
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

  test('top on a terminal: q or Ctrl-C quits; a dead agent is a problem with its remedy', {
    skip: noTerminal,
  }, async (t) => {
    const terminals = ['q', '\u0003'].map((key) => ({
      key,
      terminal: new Terminal(['top', config]),
    }));
    t.after(() => terminals.forEach(({ terminal }) => void terminal.end()));
    const show = async (what: string, is: (frame: string) => boolean) => {
      for (const { terminal } of terminals) await until(what, () => is(terminal.frame));
    };
    process.kill(scratch.pid('a2')!, 'SIGKILL');
    const problem =
      /^a2 +no answer$[\s\S]*a2 does not answer\n[\s\S]* agent\s.*crawl\.json\s+--id\s+a2/m;
    await show('the problem', (frame) => problem.test(frame));
    await show('too few copies', (frame) => /has 0 of 1 copies/.test(frame));
    begin('a2');
    const solved = /^a2 +(crawling|idle) (?![\s\S]*(a2 does not answer|has 0 of 1))/m;
    await show('the return of a2', (frame) => solved.test(frame));
    for (const { key, terminal } of terminals) {
      terminal.press(key);
      await until('the end', () => terminal.isRestored);
      assert.equal(terminal.said('code'), '0');
    }
  });

  test('top without a terminal ends with the crawl', async () => {
    const toTheEnd = run('top', config);
    gate.open();
    const [watched] = await Promise.all([toTheEnd, ...agents.map(({ ended }) => ended)]);
    assert.equal(watched.code, 0, watched.stderr);
    assert.match(watched.stdout, /the crawl was completed at .* with agents a1, a2\n$/);
  });
});

test('top names hosts that wait for robots.txt, and hosts whose pages repeat; a block of both ends the crawl', async (t) => {
  const [waits, repeats] = ['127.0.0.2', '127.0.0.1'];
  let served = 0;
  const scratch = new Scratch();
  t.after(() => scratch.clean());
  const seeds = [
    await serverAt(t, waits, (_, response) => void response.writeHead(503).end()),
    await serverAt(t, repeats, (_, response) => {
      const links = Array.from({ length: 20 }, () => `<a href="/${++served}">x</a>`);
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(`<p>${'Nothing else is here, on any of these pages. '.repeat(9)}</p>${links}`);
    }),
  ];
  const config = await scratch.config(1, { seeds, politeness: { hostDelayMs: 5 } });
  const agent = start(['agent', config, '--id', 'a1']);
  await untilAsked('the host that waits', async () => {
    const { all, failures } = await shownBy(config);
    const text = /^1 host waits for robots\.txt: .* block .*crawl\.json HOST$/;
    return all.some((one) => text.test(one)) && failures['5xx'] > 0;
  });
  await untilAsked('the host that repeats its pages', async () => {
    const text = /^1 host repeats its pages, .*slowed.* 127\.0\.0\.1 .* block .*crawl\.json 127\./;
    return (await shownBy(config)).all.some((one) => text.test(one));
  });
  for (const host of [waits, repeats]) assert.equal((await run('block', config, host)).code, 0);
  assert.equal((await agent.ended).code, 0);
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
