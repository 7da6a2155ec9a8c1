// The slow unit tests in one process.
import { everyTestOf } from './every-test-of.ts';

await everyTestOf('unit/**/slow/*.test.ts');
