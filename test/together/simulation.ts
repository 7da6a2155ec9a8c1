// Runs all simulations except the slow ones in one process.
import { everyTestOf } from './every-test-of.ts';

await everyTestOf('simulation/*.test.ts');
