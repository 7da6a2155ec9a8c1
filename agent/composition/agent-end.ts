// How an agent exits: its exit code and the reason (docs/COMMANDS.md).

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { crawlKey } from '../../config/fingerprint.ts';
import { ArchiveError } from '../archive/archive-failure.ts';
import type { End } from '../core/protocol/effects.ts';
import { type StorageFailureCode, storageFailureOf } from '../storage/file/storage-failure.ts';

export interface AgentEnd extends Pick<End, 'code' | 'reason'> {
  /** If the crawl is complete: the contents of the completion record. */
  readonly completion?: {
    /** Members of the view, including this agent. */
    readonly agents: readonly string[];
    /** Absent if the crawl was never refreshed. */
    readonly round?: number;
  };
  /** This agent has no work left, but states of its data directory have work that it cannot see. */
  readonly unfinished?: true;
}

/** Exit codes of disk failures (docs/COMMANDS.md). */
const FAILURE_CODES: Readonly<Record<StorageFailureCode, 1 | 3 | 4>> = {
  full: 3,
  unwritable: 4,
  busy: 4,
  // While the agent runs. At its start a damaged file is quarantined or refused.
  damaged: 1,
};

/** The exit of an agent after an error. */
export interface FailureEnd extends AgentEnd {
  readonly code: 1 | 3 | 4;
  /** Whether the next start must check the whole state file. */
  readonly suspect: boolean;
}

/** @param directory - the agent's directory, `DATA/ID` */
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

/** @param file - the state file that is missing or was replaced */
export function goneReason(file: string): string {
  return (
    `${file} was deleted or replaced while the agent ran; start the agent again: it reads ` +
    'the present file and gets its hosts from the copies of the others; if no other agent has ' +
    `copies, move ${dirname(file)} away first: the agent then begins from the seeds`
  );
}

/** Whether `DATA/complete.json` records that the crawl of this config is complete. */
export function isComplete(config: Config): boolean {
  try {
    const text = readFileSync(join(config.agent.dataDir, 'complete.json'), 'utf8');
    const { name = config.name, crawl } = JSON.parse(text) as { name?: unknown; crawl?: unknown };
    return name === config.name && crawl === crawlKey(config);
  } catch {
    return false;
  }
}
