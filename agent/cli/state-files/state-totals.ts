// How much a state file holds. The totals are recorded at the end of a crawl and compared before
// the next launch, to detect a file that was replaced by an older one or has new work.

import { join } from 'node:path';
import { STATE_TOTALS } from '../../storage/reads/coverage-queries.ts';
import { openStateFile } from '../common/query-files.ts';

/** Counts over all hosts of a state file, copies included. */
export interface StateTotals {
  /** URLs that ended with a response or failed. */
  readonly pages: number;
  readonly queued: number;
}

/** Null if the agent has no readable state file. */
export function stateTotals(dataDir: string, agent: string): StateTotals | null {
  const file = openStateFile(agent, join(dataDir, agent, 'state.sqlite'));
  if (typeof file === 'string') return null;
  try {
    const [[pages, queued] = []] = file.plainRows(STATE_TOTALS);
    return { pages: Number(pages), queued: Number(queued) };
  } catch {
    return null;
  } finally {
    file.close();
  }
}
