// What the tests in `log-unwritable.test.ts` and in `slow/log-unwritable.test.ts` are run on.

import fs from 'node:fs';
import path from 'node:path';

export const main = path.resolve(import.meta.dirname, '../../agent/main.ts');

export const skip = fs.existsSync('/dev/full') ? false : 'there is no /dev/full here';
