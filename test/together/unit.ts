// Runs all unit tests and properties in one process, without the slow ones.
import { everyTestOf } from './every-test-of.ts';

await everyTestOf('unit/**/*.test.ts');
await everyTestOf('property/*.test.ts');
