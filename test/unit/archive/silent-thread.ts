// A thread of the archive that ends without a word when it is given something.

import { parentPort } from 'node:worker_threads';

parentPort!.on('message', () => process.exit(0));
