import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadClientLibrary } from '../../../../agent/networks/redis/client-library.ts';

test('client library: has the members that are used', async () => {
  const { createClient, ErrorReply } = await loadClientLibrary();
  assert.equal(typeof createClient, 'function');
  assert.ok(new ErrorReply() instanceof Error);
});

test('client library: if it is missing, the error has the command for where it is needed', async (t) => {
  const missing = () => import('no-such-package' as string);
  const project = fs.mkdtempSync(join(os.tmpdir(), 'ubiring-'));
  t.after(() => fs.rmSync(project, { recursive: true }));
  fs.writeFileSync(join(project, 'package.json'), '{}');
  const inside = 'node_modules/ubiring/dist/agent/networks/redis/client-library.js';
  for (const [from, place] of [
    [`/usr/lib/${inside}`, '-g'],
    ['C:\\npm\\node_modules\\ubiring\\dist\\agent\\networks\\redis\\x.js', '-g'],
    [join(project, inside), `--prefix ${project}`],
    ['/my src/agent/networks/redis/client-library.ts', '--prefix "/my src"'],
    ['/src/dist/agent/networks/redis/client-library.js', '--prefix /src'],
  ] as const) {
    await assert.rejects(loadClientLibrary(missing, from), {
      message:
        'dedup.mode: redis needs the package @redis/client, which is not installed; ' +
        `run npm install ${place} @redis/client@6`,
    });
  }
});

test('client library: another error of its load is not taken for its absence', async () => {
  const broken = () => Promise.reject(new SyntaxError('broken'));
  await assert.rejects(loadClientLibrary(broken), { name: 'SyntaxError' });
});
