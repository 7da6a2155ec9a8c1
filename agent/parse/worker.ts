// The thread behind `ParsePool`: pages in, as many parsed pages out, in order. It says first that it
// has loaded, so that starting is not counted as parsing. Whatever goes wrong here ends the thread,
// and the pool replaces it.

import { parentPort } from 'node:worker_threads';
import { type PageInput, parsePage } from './page.ts';

const port = parentPort;
if (port === null) throw new Error('agent/parse/worker is a thread of ParsePool, not a program');
port.on('message', (inputs: readonly PageInput[]) => port.postMessage(inputs.map(parsePage)));
port.postMessage('ready');
