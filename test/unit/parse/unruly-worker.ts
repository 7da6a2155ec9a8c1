// A worker for the tests of the pool that misbehaves as the URLs of its pages request.

import { parentPort, workerData } from 'node:worker_threads';
import { type PageInput, type ParsedPage, parsePage } from '../../../agent/parse/page/page.ts';

parentPort!.on('message', (inputs: readonly PageInput[]) => {
  parentPort!.postMessage(
    inputs.map((input, k) => {
      Atomics.store(workerData as Int32Array, 0, k + 1);
      return { ...parsed(input), linksDropped: inputs.length };
    }),
  );
});
parentPort!.postMessage('ready');

function parsed(input: PageInput): ParsedPage {
  if (input.url.includes('hang')) for (;;);
  if (input.url.includes('busy')) useProcessor(1000);
  if (input.url.includes('slow')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  if (input.url.includes('sleep'))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);
  if (input.url.includes('throw')) throw new Error('as asked');
  if (input.url.includes('exit')) process.exit(0);
  return parsePage(input);
}

function useProcessor(ms: number): void {
  const usedMs = () => (process.threadCpuUsage().user + process.threadCpuUsage().system) / 1000;
  for (const start = usedMs(); usedMs() - start < ms; );
}
