// An archive thread that writes nothing. It reports everything it has as written when it receives a
// large capture or holds four small ones. The reported `offset` is the number of messages received
// so far.

import { parentPort } from 'node:worker_threads';
import type { FromWorker, ToWorker } from '../../../agent/archive/archive-worker.ts';

const ids: number[] = [];
let messages = 0;

parentPort!.on('message', (message: ToWorker) => {
  if (message.type === 'close') process.exit(0);
  if (message.type !== 'append') return;
  messages++;
  ids.push(...message.items.map(({ id }) => id));
  const hasLarge = message.items.some(({ body }) => body.byteLength > 1024 ** 2);
  if (!hasLarge && ids.length < 4) return;
  const place = { file: 'f', offset: messages, end: 1, indexEnd: 1 };
  const places = ids.splice(0).map((id) => [id, place] as const);
  parentPort!.postMessage({ type: 'written', places } satisfies FromWorker);
});
