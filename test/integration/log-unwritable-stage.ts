// The set-up shared by `log-unwritable.test.ts` and `slow/log-unwritable.test.ts`.

import fs from 'node:fs';
import path from 'node:path';

export const main = path.resolve(import.meta.dirname, '../../agent/main.ts');

export const skip = fs.existsSync('/dev/full') ? false : 'the system has no /dev/full';
