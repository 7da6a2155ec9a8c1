// Calls to the thread that reads the lists.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ListThread } from '../../../../agent/cli/api/list-thread.ts';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { HttpProblem } from '../../../../agent/cli/http/http-problem.ts';

const config = (dataDir: string) => ({ agent: { dataDir } }) as unknown as ResolvedConfig;
const clientOf = (address: string, signal = new AbortController().signal) => ({ address, signal });
const LIST = { sort: 'host', limit: 10 } as const;

test('a call returns what the function does, or throws its problem', async () => {
  const thread = new ListThread(config(join(tmpdir(), 'ubiring-no-such-directory')));
  const none = { rows: [], next: null, problems: [] };
  const [hosts, wrong, urls] = await Promise.allSettled([
    thread.call(clientOf('a'), 'hosts', LIST, []),
    thread.call(clientOf('a'), 'hosts', { ...LIST, after: 'x' }, []),
    thread.call(clientOf('a'), 'urls', 'pages', { host: 'a.test', limit: 1 }, []),
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
  thread.close();
});

/** A thread that runs this script. */
function scripted(t: TestContext, script: string): ListThread {
  const directory = mkdtempSync(join(tmpdir(), 'ubiring-thread-'));
  const file = join(directory, 'worker.mjs');
  writeFileSync(file, `import { parentPort, threadId } from 'node:worker_threads';\n${script}`);
  const thread = new ListThread(config(directory), pathToFileURL(file));
  t.after(() => {
    thread.close();
    rmSync(directory, { recursive: true });
  });
  return thread;
}

test('calls to a thread that ends fail, and the next call starts another', async (t) => {
  const thread = scripted(
    t,
    `parentPort.on('message', ({ name }) => {
       if (name === 'urls') process.exit(1);
       parentPort.postMessage({ result: threadId });
     });`,
  );
  const first = await thread.call(clientOf('a'), 'hosts', LIST, []);
  assert.equal(await thread.call(clientOf('a'), 'hosts', LIST, []), first);
  const query = { host: 'a.test', limit: 1 };
  const failing = thread.call(clientOf('a'), 'urls', 'pages', query, []);
  const next = thread.call(clientOf('a'), 'hosts', LIST, []);
  await assert.rejects(failing, /has ended/);
  assert.notEqual(await next, first);
});

/** Answers each call with the hosts of all calls that it has got. */
const RECORDING = `const seen = [];
parentPort.on('message', ({ args: [, { host }] }) => {
  seen.push(host);
  parentPort.postMessage({ result: [...seen] });
});`;

test('a client that asks for thousands of lists loses most, and keeps no other out', async (t) => {
  const thread = scripted(t, RECORDING);
  const call = (address: string, host: string) =>
    thread.call(clientOf(address), 'urls', 'pages', { host, limit: 1 }, []);
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
  const thread = scripted(t, RECORDING);
  const gone = new AbortController();
  const call = (host: string, signal?: AbortSignal) =>
    thread.call(clientOf('a', signal), 'urls', 'pages', { host, limit: 1 }, []);
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

test('calls fail if no thread can be started, and the next call tries again', async () => {
  const thread = new ListThread(config('/'), new URL('http://a.test/'));
  for (let k = 0; k < 2; k++) await assert.rejects(thread.call(clientOf('a'), 'hosts', LIST, []));
});
