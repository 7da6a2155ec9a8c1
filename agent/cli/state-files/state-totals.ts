// How much a state file holds. The totals are recorded at the end of a crawl and compared before
// the next launch, to detect a file that was replaced by an older one or has new work.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { REOPENING_ORDERS, STATE_TOTALS } from '../../storage/reads/coverage-queries.ts';
import { openStateFile } from '../common/query-files.ts';

/** Counts over all hosts of a state file, copies included. */
export interface StateTotals {
  /** URLs that ended with a response or failed. */
  readonly pages: number;
  readonly queued: number;
}

/** Null if the agent has no readable state file. */
export function stateTotals(dataDir: string, agent: string): StateTotals | null {
  const [row] = rowsOf(dataDir, agent, STATE_TOTALS) ?? [];
  return row ? { pages: Number(row[0]), queued: Number(row[1]) } : null;
}

/**
 * A digest of the directives that reopen a complete crawl: blocks, revoked ones included, and the
 * round. Null if the agent has no readable state file.
 */
export function ordersOf(dataDir: string, agent: string): string | null {
  const rows = rowsOf(dataDir, agent, REOPENING_ORDERS);
  return rows && createHash('sha256').update(JSON.stringify(rows)).digest('base64url').slice(0, 22);
}

function rowsOf(dataDir: string, agent: string, sql: string): readonly unknown[][] | null {
  const file = openStateFile(agent, join(dataDir, agent, 'state.sqlite'));
  if (typeof file === 'string') return null;
  try {
    return [...file.plainRows(sql)];
  } catch {
    return null;
  } finally {
    file.close();
  }
}
