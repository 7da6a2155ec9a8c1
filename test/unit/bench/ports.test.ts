import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { freePorts } from '../../../bench/ports.ts';

test('ports: two callers that begin at the same port get no port in common', async () => {
  const module = JSON.stringify(new URL('../../../bench/ports.ts', import.meta.url));
  // It has the number of this process, and so begins at the same port.
  const other = new Worker(
    `import(${module}).then(async ({ freePorts }) =>
       require('node:worker_threads').parentPort.postMessage(await freePorts(150)))`,
    { eval: true },
  );
  const [theirs, ours] = await Promise.all([once(other, 'message'), freePorts(150)]);
  const ports = [...(theirs[0] as number[]), ...ours];
  assert.equal(ports.length, 300);
  assert.equal(new Set(ports).size, 300);
});
