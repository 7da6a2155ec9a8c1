import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadClientLibrary } from '../../../../agent/networks/redis/client-library.ts';

test('client library: has the members that are used', async () => {
  const { createClient, ErrorReply } = await loadClientLibrary();
  assert.equal(typeof createClient, 'function');
  assert.ok(new ErrorReply() instanceof Error);
});

test('client library: if it is missing, the error names the package and the command', async () => {
  const missing = () => import('no-such-package' as string);
  await assert.rejects(loadClientLibrary(missing), {
    message:
      'dedup.mode: redis needs the package @redis/client, which is not installed; ' +
      'run npm install @redis/client@6',
  });
});

test('client library: another error of its load is not taken for its absence', async () => {
  const broken = () => Promise.reject(new SyntaxError('broken'));
  await assert.rejects(loadClientLibrary(broken), { name: 'SyntaxError' });
});
