// How much a state file holds: recorded at the end of a crawl and compared before the next launch, so
// that a file that was set back, or that has open work again, does not pass for that of the end.

import { join } from 'node:path';
import { STATE_TOTALS } from '../../storage/reads/coverage-queries.ts';
import { openStateFile, type StateFile } from '../common/query-files.ts';

/** Of all hosts of a state file, copies included. */
export interface StateTotals {
  /** URLs that ended with a response or failed. */
  readonly pages: number;
  readonly queued: number;
}

/** Null where there is no state file of the agent, or it cannot be read. */
export function stateTotals(dataDir: string, agent: string): StateTotals | null {
  const file = openStateFile(agent, join(dataDir, agent, 'state.sqlite'));
  if (typeof file === 'string') return null;
  try {
    return totalsOf(file);
  } catch {
    return null;
  } finally {
    file.close();
  }
}

function totalsOf(file: StateFile): StateTotals {
  const [[pages, queued] = []] = file.plainRows(STATE_TOTALS);
  return { pages: Number(pages), queued: Number(queued) };
}
