// An archive thread that exits without a message when it receives something.

import { parentPort } from 'node:worker_threads';

parentPort!.on('message', () => process.exit(0));
