import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { Archive } from '../../../agent/archive/archive.ts';
import type { Capture } from '../../../agent/archive/record/capture.ts';

const capture: Capture = {
  ...{ url: 'http://a.test/', ip: null, startedAt: 0, status: 200, contentType: null },
  ...{ requestHead: 'GET / HTTP/1.1\r\n\r\n', responseHead: 'HTTP/1.1 200 OK\r\n\r\n' },
  ...{ truncated: null, metadata: [] },
};

/** An archive in a directory of its own, and what it said of failures. */
function opened(t: Pick<TestContext, 'after'>, script?: URL) {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-archive-'));
  t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
  const failures: string[] = [];
  const archive = new Archive({
    ...{
      directory,
      agent: 'a1',
      fileBytes: 1024 ** 3,
      compression: { format: 'gzip', level: 1 } as const,
    },
    ...{ durable: false, about: [], known: null },
    onFailure: ({ message }) => failures.push(message),
    ...(script && { script }),
  });
  return { archive, failures };
}

test('archive: a thread that ends without a word fails the archive, and nobody waits for it', async (t) => {
  const { archive, failures } = opened(t, new URL('./silent-thread.ts', import.meta.url));
  assert.equal(await archive.append(capture, [Buffer.from('x')]), null);
  assert.match(failures.join(), /exited with code 0/);
  assert.equal(await archive.append(capture, [Buffer.from('y')]), null);
  await archive.close();
  assert.equal(failures.length, 1);
});

test('archive: one that is closed has not failed', async (t) => {
  const { archive, failures } = opened(t);
  assert.ok(await archive.append(capture, [Buffer.from('x')]));
  await archive.close();
  assert.deepEqual(failures, []);
});

test('archive: of large captures one goes to the thread at a time, and small ones overtake', async (t) => {
  const { archive } = opened(t);
  const large = Buffer.alloc(2 * 1024 ** 2, 'x');
  const bodies = [large, large, large, Buffer.from('small')];
  const ended: number[] = [];
  await Promise.all(
    bodies.map(async (body, k) => {
      await archive.append(capture, [Buffer.from([k]), body]);
      ended.push(k);
    }),
  );
  assert.deepEqual(ended, [0, 3, 1, 2]);
  await archive.close();
});

test('archive: the largest capture does not wait for a moment without small ones', async (t) => {
  const { archive } = opened(t, new URL('./hesitant-thread.ts', import.meta.url));
  t.after(() => archive.close());
  const small = () => archive.append(capture, [Buffer.from('s')]);
  const first = small();
  const large = archive.append(capture, [Buffer.alloc(65 * 1024 ** 2)]);
  const places = await Promise.all([first, large, small(), small(), small()]);
  // All that waited while the first was with the thread goes in the second message.
  assert.deepEqual(
    places.map((place) => place?.offset),
    [2, 2, 2, 2, 2],
  );
});
