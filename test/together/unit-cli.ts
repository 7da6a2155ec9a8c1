// Runs the unit tests of the commands, and the properties, in one process, except the slow ones.
import { everyTestOf } from './every-test-of.ts';

await everyTestOf('unit/cli/**/*.test.ts');
await everyTestOf('property/*.test.ts');
