// Runs the slow unit tests and properties in one process.
import { everyTestOf } from './every-test-of.ts';

await everyTestOf('unit/**/slow/*.test.ts');
await everyTestOf('property/slow/*.test.ts');
