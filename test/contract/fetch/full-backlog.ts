/**
 * A listening socket with a full queue, so that a further connection is neither accepted nor
 * refused, as with a host behind a firewall that drops packets. A worker listens with the smallest
 * backlog and then blocks its thread, so that it never accepts a connection.
 */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

/** Linux completes one connection more than the backlog of 1; further ones get no answer. */
const FILLERS = 8;
/** The worker wakes after this time even if the test does not stop it. */
const BLOCKED_MS = 20_000;

const LISTENER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const server = require('node:net').createServer();
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    Atomics.wait(new Int32Array(workerData.lock), 0, 0, workerData.blockedMs);
  });
`;

export async function fullBacklog(): Promise<{ port: number; stop: () => Promise<void> }> {
  const lock = new SharedArrayBuffer(4);
  const worker = new Worker(LISTENER, { eval: true, workerData: { lock, blockedMs: BLOCKED_MS } });
  const [port] = (await once(worker, 'message')) as [number];
  const fillers: Socket[] = Array.from({ length: FILLERS }, () => connect(port, '127.0.0.1'));
  for (const filler of fillers) {
    filler.on('error', () => {});
  }
  await once(fillers[0]!, 'connect');
  return {
    port,
    stop: async () => {
      for (const filler of fillers) {
        filler.destroy();
      }
      Atomics.notify(new Int32Array(lock), 0);
      await worker.terminate();
    },
  };
}
