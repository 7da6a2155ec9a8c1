// A thread that behaves as the URL of the page says: for the tests of the pool.

import { parentPort } from 'node:worker_threads';
import { parsePage } from '../../../agent/parse/page.ts';

parentPort!.on('message', (input) => {
  if (input.url.includes('hang')) for (;;);
  if (input.url.includes('throw')) throw new Error('as asked');
  if (input.url.includes('exit')) process.exit(0);
  parentPort!.postMessage(parsePage(input));
});
parentPort!.postMessage('ready');
