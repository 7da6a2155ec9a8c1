// The set-up that `log-unwritable.test.ts` and `slow/log-unwritable.test.ts` share.

import fs from 'node:fs';
import path from 'node:path';

export const main = path.resolve(import.meta.dirname, '../../agent/main.ts');

export const skip = fs.existsSync('/dev/full') ? false : 'there is no /dev/full here';
