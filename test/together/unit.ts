// Runs all unit tests and properties except the slow ones in one process.
import { everyTestOf } from './every-test-of.ts';

await everyTestOf('unit/**/*.test.ts');
await everyTestOf('property/*.test.ts');
