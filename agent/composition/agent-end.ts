// How an agent ends: the exit code and the sentence that goes with it (docs/COMMANDS.md). Used
// by agent.ts, for errors at the start and in a turn alike, and by the command that runs it.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { crawlKey } from '../../config/fingerprint.ts';
import { ArchiveError } from '../archive/archive-failure.ts';
import type { EndCode } from '../core/protocol/effects.ts';
import { type StorageFailureCode, storageFailureOf } from '../storage/file/storage-failure.ts';

export interface AgentEnd {
  readonly code: EndCode;
  readonly reason: string;
  /** Where the crawl is complete: what `DATA/complete.json` is to say of its end. */
  readonly completion?: {
    /** Members of the view, this agent among them. */
    readonly agents: readonly string[];
    /** Absent where the crawl was never refreshed. */
    readonly round?: number;
  };
}

/** What it means for the process that the disk failed (docs/COMMANDS.md). */
const FAILURE_CODES: Readonly<Record<StorageFailureCode, 1 | 3 | 4>> = {
  full: 3,
  unwritable: 4,
  busy: 4,
  // Found in a turn; at a start the file is set aside or refused.
  damaged: 1,
};

/** Of an agent that an error ends. */
export interface FailureEnd extends AgentEnd {
  readonly code: 1 | 3 | 4;
  /** The next start is to read the whole state file. */
  readonly suspect: boolean;
}

/** @param directory - the agent's, `DATA/ID` */
export function endOfFailure(error: unknown, directory: string): FailureEnd {
  if (error instanceof ArchiveError) {
    return { code: error.code === 'full' ? 3 : 4, reason: error.message, suspect: false };
  }
  const failure = storageFailureOf(error, directory);
  if (failure) {
    const { code, message: reason } = failure;
    return { code: FAILURE_CODES[code], reason, suspect: code === 'damaged' };
  }
  const why = error instanceof Error ? error.message : String(error);
  if (/\b(EMFILE|ENFILE)\b|too many open file/i.test(why)) {
    const reason = `${why}: raise the limit of open files (ulimit -n 4096), or lower agent.threads`;
    return { code: 1, reason, suspect: false };
  }
  return { code: 1, reason: `unexpected: ${why}`, suspect: false };
}

/** @param file - what was there and is not, or is another */
export function goneReason(file: string): string {
  return (
    `${file} was deleted or replaced while the agent ran; start the agent again: it begins with ` +
    'what is there, and has its hosts from the copies of the others; where no other has copies, ' +
    `move ${dirname(file)} away first: it begins anew from the seeds`
  );
}

/** Whether `DATA/complete.json` says that this very crawl (seeds, limits) is over. */
export function isComplete(config: Config): boolean {
  try {
    const text = readFileSync(join(config.agent.dataDir, 'complete.json'), 'utf8');
    return (JSON.parse(text) as { crawl?: unknown }).crawl === crawlKey(config);
  } catch {
    return false;
  }
}
