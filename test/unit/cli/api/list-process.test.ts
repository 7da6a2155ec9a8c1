// Calls to the process that reads the lists.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ListProcess } from '../../../../agent/cli/api/list-process.ts';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { HttpProblem } from '../../../../agent/cli/http/http-problem.ts';
import { until } from '../../../integration/cli-process.ts';

const config = (dataDir: string) => ({ agent: { dataDir } }) as unknown as ResolvedConfig;
const clientOf = (address: string, signal = new AbortController().signal) => ({ address, signal });
const LIST = { sort: 'host', limit: 10 } as const;

test('a call returns what the function does, or throws its problem', async () => {
  const lists = new ListProcess(config(join(tmpdir(), 'ubiring-no-such-directory')));
  const none = { rows: [], next: null, problems: [] };
  const [hosts, wrong, urls] = await Promise.allSettled([
    lists.call(clientOf('a'), 'hosts', LIST, []),
    lists.call(clientOf('a'), 'hosts', { ...LIST, after: 'x' }, []),
    lists.call(clientOf('a'), 'urls', 'pages', { host: 'a.test', limit: 1 }, []),
  ]);
  assert.deepEqual(
    [hosts, urls].map((one) => one.status === 'fulfilled' && one.value),
    [none, none],
  );
  assert.ok(wrong.status === 'rejected' && wrong.reason instanceof HttpProblem);
  assert.deepEqual(
    [wrong.reason.document.status, wrong.reason.document.code],
    [400, 'cursor-invalid'],
  );
  lists.close();
});

/** A process that runs this script. */
function scripted(t: TestContext, script: string, msMax?: number): ListProcess {
  const directory = mkdtempSync(join(tmpdir(), 'ubiring-lists-'));
  const file = join(directory, 'worker.mjs');
  writeFileSync(file, script);
  const lists = new ListProcess(config(directory), pathToFileURL(file), msMax);
  t.after(() => {
    lists.close();
    rmSync(directory, { recursive: true });
  });
  return lists;
}

test('calls to a process that ends fail, and the next call starts another', async (t) => {
  const lists = scripted(
    t,
    `process.on('message', ({ config, name }) => {
       if (config) return;
       if (name === 'urls') process.exit(1);
       process.send({ result: process.pid });
     });`,
  );
  const first = await lists.call(clientOf('a'), 'hosts', LIST, []);
  assert.equal(await lists.call(clientOf('a'), 'hosts', LIST, []), first);
  const query = { host: 'a.test', limit: 1 };
  const failing = lists.call(clientOf('a'), 'urls', 'pages', query, []);
  const next = lists.call(clientOf('a'), 'hosts', LIST, []);
  await assert.rejects(failing, /has ended/);
  assert.notEqual(await next, first);
});

test('a list that takes too long is given up, and its process ended', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'ubiring-lists-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const started = join(directory, 'pids');
  const lists = scripted(
    t,
    `import { appendFileSync } from 'node:fs';
     process.on('message', ({ name }) => {
       if (!name) return;
       appendFileSync(${JSON.stringify(started)}, process.pid + '\\n');
       for (;;);
     });`,
    1000,
  );
  for (let k = 0; k < 2; k++) {
    await assert.rejects(lists.call(clientOf('a'), 'history'), (error) => {
      assert.ok(error instanceof HttpProblem);
      assert.deepEqual([error.document.status, error.document.code], [503, 'list-slow']);
      return true;
    });
  }
  // A process that was slow to start has written nothing.
  writeFileSync(started, '', { flag: 'a' });
  const pids = () => readFileSync(started, 'utf8').split('\n').filter(Boolean).map(Number);
  await until('the processes have ended', () => !pids().some(isAlive));
});

/** Answers each call with the hosts of all calls that it has got. */
const RECORDING = `const seen = [];
process.on('message', ({ config, args }) => {
  if (config) return;
  seen.push(args[1].host);
  process.send({ result: [...seen] });
});`;

test('a client that asks for thousands of lists loses most, and keeps no other out', async (t) => {
  const lists = scripted(t, RECORDING);
  const call = (address: string, host: string) =>
    lists.call(clientOf(address), 'urls', 'pages', { host, limit: 1 }, []);
  const many = Promise.allSettled(Array.from({ length: 4000 }, () => call('a', 'many')));
  const seen = await Promise.all([call('b', 'one'), call('c', 'other')]);
  assert.deepEqual(seen, [
    ['many', 'many', 'one'],
    ['many', 'many', 'one', 'other'],
  ]);
  const lost = (await many).flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  // One runs, 256 wait, and two of these make room for the others.
  assert.equal(lost.length, 4000 - 257 + 2);
  for (const error of lost) {
    assert.ok(error instanceof HttpProblem);
    assert.deepEqual([error.document.status, error.document.code], [503, 'list-busy']);
  }
});

test('no list is made for a client that has gone', async (t) => {
  const lists = scripted(t, RECORDING);
  const gone = new AbortController();
  const call = (host: string, signal?: AbortSignal) =>
    lists.call(clientOf('a', signal), 'urls', 'pages', { host, limit: 1 }, []);
  const hosts = ['1', '2', '3', '4'];
  const calls = hosts.map((host) => call(host, '23'.includes(host) ? gone.signal : undefined));
  gone.abort();
  const ended = await Promise.allSettled([...calls, call('5', gone.signal), call('6')]);
  assert.deepEqual(
    ended.map((one) => (one.status === 'fulfilled' ? one.value : one.reason.message)),
    [
      ['1'],
      ...['the client has gone', 'the client has gone'],
      ['1', '4'],
      'the client has gone',
      ['1', '4', '6'],
    ],
  );
});

test('calls fail if no process can be started, and the next call tries again', async () => {
  const lists = new ListProcess(config('/'), new URL('http://a.test/'));
  for (let k = 0; k < 2; k++) await assert.rejects(lists.call(clientOf('a'), 'hosts', LIST, []));
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
