// Runs the unit tests except the slow ones, and except those of the commands, in one process.
import { everyTestOf } from './every-test-of.ts';

await everyTestOf('unit/!(cli)/**/*.test.ts');
