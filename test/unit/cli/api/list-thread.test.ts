// Calls to the thread that reads the lists.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ListThread } from '../../../../agent/cli/api/list-thread.ts';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { HttpProblem } from '../../../../agent/cli/http/http-problem.ts';

const config = (dataDir: string) => ({ agent: { dataDir } }) as unknown as ResolvedConfig;
const LIST = { sort: 'host', limit: 10 } as const;

test('a call returns what the function does, or throws its problem', async () => {
  const thread = new ListThread(config(join(tmpdir(), 'ubiring-no-such-directory')));
  const none = { rows: [], next: null, problems: [] };
  const [hosts, wrong, urls] = await Promise.allSettled([
    thread.call('hosts', LIST, []),
    thread.call('hosts', { ...LIST, after: 'x' }, []),
    thread.call('urls', 'pages', { host: 'a.test', limit: 1 }, []),
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

test('calls to a thread that ends fail, and the next call starts another', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ubiring-thread-'));
  try {
    const script = join(directory, 'worker.mjs');
    writeFileSync(
      script,
      `import { parentPort, threadId } from 'node:worker_threads';
       parentPort.on('message', ({ number, name }) => {
         if (name === 'urls') process.exit(1);
         parentPort.postMessage({ number, result: threadId });
       });`,
    );
    const thread = new ListThread(config(directory), pathToFileURL(script));
    const first = await thread.call('hosts', LIST, []);
    assert.equal(await thread.call('hosts', LIST, []), first);
    const query = { host: 'a.test', limit: 1 };
    await assert.rejects(thread.call('urls', 'pages', query, []), /has ended/);
    assert.notEqual(await thread.call('hosts', LIST, []), first);
    thread.close();
  } finally {
    rmSync(directory, { recursive: true });
  }
});
