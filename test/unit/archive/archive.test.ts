// How captures go to the archive's thread: several in one message where more are to come, at once
// where nobody else is on the way, and never left behind at the end.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { Archive } from '../../../agent/archive/archive.ts';
import { bytes, capture } from './captures.ts';
import { readWarc } from './reading.ts';

/** An archive, and how many captures each message to its thread has had. */
function archiveHere(t: TestContext) {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-archive-'));
  const messages: number[] = [];
  const { postMessage } = Worker.prototype;
  t.mock.method(
    Worker.prototype,
    'postMessage',
    function (this: Worker, message: { items?: unknown[] }, transfer: ArrayBuffer[]) {
      if (message.items) messages.push(message.items.length);
      postMessage.call(this, message, transfer);
    },
  );
  const archive = new Archive({
    ...{ directory, agent: 'a1', fileBytes: 1024 ** 3, gzipLevel: 1, durable: false },
    ...{ about: [], known: null },
    onFailure: (error) => assert.fail(error),
  });
  t.after(async () => {
    await archive.close();
    fs.rmSync(directory, { recursive: true });
  });
  const append = (k: number, others: number) =>
    archive.append(capture({ url: `http://h.example/${k}` }), [bytes(`page ${k}`)], others);
  return { archive, append, messages, directory };
}

test('archive: captures wait for an eighth of those under way, and go in one message', async (t) => {
  const { append, messages } = archiveHere(t);
  const places = [1, 2, 3, 4].map((k) => append(k, 32));
  assert.deepEqual(messages, [4], 'the fourth takes the others along');
  const offsets = (await Promise.all(places)).map((place) => place!.offset);
  assert.deepEqual(
    offsets,
    offsets.toSorted((a, b) => a - b),
    'in the order in which they came',
  );
});

test('archive: where little else is under way a capture waits for nobody', async (t) => {
  const { append, messages } = archiveHere(t);
  for (const others of [0, 1, 8]) await append(others, others);
  assert.deepEqual(messages, [1, 1, 1]);
});

test('archive: what comes while the thread is busy goes to it together', async (t) => {
  const { append, messages } = archiveHere(t);
  await append(0, 0);
  const places = [1, 2, 3].map((k) => append(k, 0));
  assert.deepEqual(messages, [1, 1], 'the first is on its way, the others wait for it');
  await Promise.all(places);
  assert.deepEqual(messages, [1, 1, 2]);
});

test('archive: a capture for which no other comes is written all the same', async (t) => {
  const { append, messages } = archiveHere(t);
  const place = append(1, 1000);
  assert.deepEqual(messages, []);
  assert.ok(await place);
  assert.deepEqual(messages, [1]);
});

test('archive: what waits for others when the archive is closed is written', async (t) => {
  const { archive, append, directory } = archiveHere(t);
  const place = append(1, 1000);
  await archive.close();
  const written = await place;
  const records = await readWarc(path.join(directory, written!.file));
  assert.equal(String(records.at(-1)?.content), 'page 1');
});
