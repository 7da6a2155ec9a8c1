// Calls to the process that reads the lists.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import { ListProcess } from '../../../../agent/cli/api/list-process.ts';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { HttpProblem } from '../../../../agent/cli/http/http-problem.ts';
import { crawlOf } from '../views/state-files.ts';

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

test('another crawl in the data directory is not among the lists', async (t) => {
  const { config, fileOf } = crawlOf(t, ['a1', 'b1'], (store, id) => {
    store.enqueue(`${id}.test`, { url: `http://${id}.test/`, depth: 0 }, null);
    store.event(1, 'join', { agent: id });
  });
  const db = new Database(fileOf('b1'));
  db.prepare("UPDATE meta SET value = 'other' WHERE key = 'crawl'").run();
  db.close();
  const lists = new ListProcess({ ...config, name: 'c' });
  t.after(() => lists.close());
  const { rows, problems } = await lists.call(clientOf('a'), 'hosts', LIST, []);
  assert.deepEqual([rows.map(({ host }) => host), problems], [['a1.test'], []]);
  const history = await lists.call(clientOf('a'), 'history');
  assert.deepEqual(
    [history.agents.map(({ id }) => id), history.changes.map(({ id }) => id)],
    [['a1'], ['a1']],
  );
  assert.equal(await lists.call(clientOf('a'), 'events', 'b1', null), null);
});

/** A process that runs this script. */
function scripted(t: TestContext, script: string, now?: () => number): ListProcess {
  const directory = mkdtempSync(join(tmpdir(), 'ubiring-lists-'));
  const file = join(directory, 'worker.mjs');
  writeFileSync(file, script);
  const lists = new ListProcess(config(directory), pathToFileURL(file), now);
  t.after(() => {
    lists.close();
    rmSync(directory, { recursive: true });
  });
  return lists;
}

test('a closed process ends, and starts no other', async (t) => {
  const lists = scripted(t, "process.on('message', () => {});");
  const running = lists.call(clientOf('a'), 'history');
  lists.close();
  await assert.rejects(running, /has been closed/);
  await assert.rejects(lists.call(clientOf('a'), 'history'), /has been closed/);
});

test('the process ends in the middle of a step if its server was killed', {
  timeout: 60_000,
}, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'ubiring-lists-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const source = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
  const api = '../../../../agent/cli/api';
  const worker = join(directory, 'worker.mjs');
  const started = join(directory, 'started');
  writeFileSync(started, '');
  writeFileSync(
    worker,
    `import { writeFileSync } from 'node:fs';
     import ${source(`${api}/list-worker.ts`)};
     process.prependListener('message', ({ name }) => {
       if (!name) return;
       writeFileSync(${JSON.stringify(started)}, process.pid + '\\n');
       for (;;);
     });`,
  );
  const script = join(directory, 'server.mjs');
  writeFileSync(
    script,
    `import { ListProcess } from ${source(`${api}/list-process.ts`)};
     const lists = new ListProcess({}, new URL(${JSON.stringify(pathToFileURL(worker).href)}));
     lists.call({ address: 'a', signal: new AbortController().signal }, 'history');`,
  );
  const server = spawn(process.execPath, [script]);
  t.after(() => server.kill('SIGKILL'));
  const pid = () => readFileSync(started, 'utf8');
  while (!pid().endsWith('\n')) await setImmediate(null, { signal: t.signal });
  const child = Number(pid());
  t.after(() => isAlive(child) && process.kill(child, 'SIGKILL'));
  server.kill('SIGKILL');
  while (isAlive(child)) await setImmediate(null, { signal: t.signal });
});

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
  await assert.rejects(failing, /has ended \(code 1\)/);
  assert.notEqual(await next, first);
});

/** A process that writes in this file what it is, and its temporary directory, and then blocks. */
const blocking = (started: string) => `import { appendFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
process.on('message', ({ name }) => {
  if (!name) return;
  writeFileSync(tmpdir() + '/partial', 'copy');
  appendFileSync(${JSON.stringify(started)}, process.pid + ' ' + tmpdir() + '\\n');
  for (;;);
});`;

test('a list that takes too long is given up, and leaves no process and no file', {
  timeout: 60_000,
}, async (t) => {
  // The child is as slow as it is, and the limit begins to count when it blocks.
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const directory = mkdtempSync(join(tmpdir(), 'ubiring-lists-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const started = join(directory, 'started');
  writeFileSync(started, '');
  let now = 0;
  const lists = scripted(t, blocking(started), () => now);
  const runs = () => readFileSync(started, 'utf8').split('\n').slice(0, -1);
  const history = (address: string) => lists.call(clientOf(address), 'history');
  const isSlow = (call: Promise<unknown>) =>
    assert.rejects(call, (error) => {
      assert.ok(error instanceof HttpProblem);
      assert.deepEqual([error.document.status, error.document.code], [503, 'list-slow']);
      assert.match(error.message, /after 30 s, and is not made again for 5 min/);
      return true;
    });
  const ran = async (count: number) => {
    while (runs().length < count) await setImmediate(null, { signal: t.signal });
    t.mock.timers.tick(30_000);
  };
  for (const count of [1, 2]) {
    const calls = [history('a'), history('a')].map(isSlow);
    await ran(count);
    await Promise.all(calls);
    // Without another process.
    await isSlow(history('a'));
    assert.equal(runs().length, count);
    now += 300_000;
  }
  // Other clients do not wait.
  const other = isSlow(history('b'));
  await ran(3);
  await other;
  for (const run of runs()) {
    const [pid = '', scratch = ''] = run.split(' ');
    assert.notEqual(scratch, tmpdir());
    while (isAlive(Number(pid)) || existsSync(scratch))
      await setImmediate(null, { signal: t.signal });
  }
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
