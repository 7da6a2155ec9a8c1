// How each launched agent ended, and the exit code of the launch that follows (docs/COMMANDS.md): 0
// exactly when the crawl is complete, whichever agents died; 11 if no agent is left or the launch was
// stopped; otherwise the code of the first agent that failed. A crash is a failure too. Pure.

import type { FromAgent } from '../agent/launch-messages.ts';
import type { ExitCode } from '../common/exit-code.ts';

export type Ending =
  | { readonly kind: 'complete' }
  /** By order, its hosts handed over. */
  | { readonly kind: 'left'; readonly reason: string }
  /** Stopped, to be launched again. */
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'failed'; readonly code: ExitCode; readonly reason: string }
  | { readonly kind: 'killed'; readonly signal: string }
  /**
   * By a signal that the process brought on itself, as where its memory or its files ran out;
   * `outOfMemory`: by the system, because the memory of the machine or of the container ran out.
   */
  | { readonly kind: 'crashed'; readonly signal: string; readonly outOfMemory?: true };

/** Signals with which a process ends itself, or by which the system ends it for a fault of its own. */
const crashSignals: readonly string[] = [
  ...['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGSYS', 'SIGTRAP'],
];

/**
 * @param last - the agent's last word; null where it died without one
 * @param code - exit code of its process; null where a signal ended it
 * @param ranOut - whether the system has killed processes for want of memory while the agent ran
 */
export function endingOf(
  last: Extract<FromAgent, { type: 'ended' }> | null,
  code: number | null,
  signal: string | null,
  ranOut = false,
): Ending {
  if (last === null) {
    if (code === null && signal === 'SIGKILL' && ranOut) {
      return { kind: 'crashed', signal, outOfMemory: true };
    }
    if (code === null) {
      const kind = crashSignals.includes(signal ?? '') ? 'crashed' : 'killed';
      return { kind, signal: signal ?? 'a signal' };
    }
    if (code === 11) return { kind: 'interrupted' };
    return { kind: 'failed', code: exitCodeOf(code), reason: `ended with code ${code}` };
  }
  const { course, reason } = last;
  if (course === 'complete' || course === 'interrupted') return { kind: course };
  if (course === 'left') return { kind: 'left', reason };
  return { kind: 'failed', code: exitCodeOf(last.code), reason };
}

function exitCodeOf(code: number): ExitCode {
  const known: readonly ExitCode[] = [2, 3, 4, 5, 11];
  return known.find((one) => one === code) ?? 1;
}

/**
 * What the launch ends with.
 *
 * @param endings - of all agents, in the order in which they ended
 * @param stopped - whether the launch was told to stop
 */
export function verdictOf(endings: readonly Ending[], stopped: boolean): ExitCode {
  if (endings.some(({ kind }) => kind === 'complete')) return 0;
  if (stopped) return 11;
  const failure = endings.find(({ kind }) => kind === 'failed' || kind === 'crashed');
  if (failure === undefined) return 11;
  return failure.kind === 'failed' ? failure.code : 1;
}

/** One or two words for a table. */
export function endingText(ending: Ending): string {
  switch (ending.kind) {
    case 'complete':
      return 'complete';
    case 'left':
      return 'left';
    case 'interrupted':
      return 'interrupted';
    case 'failed':
      return `failed (${ending.code})`;
    case 'killed':
      return `killed (${ending.signal})`;
    case 'crashed':
      return `crashed (${ending.signal})`;
  }
}
