import assert from 'node:assert/strict';
import { test } from 'node:test';
import { capture, opened } from './archive-stage.ts';

test('archive: closing an archive is not reported as a failure', async (t) => {
  const { archive, failures } = opened(t);
  assert.ok(await archive.append(capture, [Buffer.from('x')]));
  await archive.close();
  assert.deepEqual(failures, []);
});

test('archive: sends one large capture at a time to the thread, and small ones overtake', async (t) => {
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

test('archive: the largest capture does not wait until no small ones are queued', async (t) => {
  const { archive } = opened(t, new URL('./hesitant-thread.ts', import.meta.url));
  t.after(() => archive.close());
  const small = () => archive.append(capture, [Buffer.from('s')]);
  const first = small();
  const large = archive.append(capture, [Buffer.alloc(65 * 1024 ** 2)]);
  const places = await Promise.all([first, large, small(), small(), small()]);
  // The second message contains everything that was queued while the thread had the first one.
  assert.deepEqual(
    places.map((place) => place?.offset),
    [2, 2, 2, 2, 2],
  );
});
