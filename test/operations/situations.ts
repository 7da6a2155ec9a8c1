// All situations in which the product names a remedy.

import { agentSituations } from './agent-situations.ts';
import { fileSituations } from './file-situations.ts';
import type { Situation } from './situation.ts';

export const situations: readonly Situation[] = [...agentSituations, ...fileSituations];
