// Runs the simulations in one process, without the slow ones.
import { everyTestOf } from './every-test-of.ts';

await everyTestOf('simulation/*.test.ts');
