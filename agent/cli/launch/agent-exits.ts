// How each launched agent exited, and the resulting exit code of the launch (docs/COMMANDS.md).

import type { FromAgent } from '../agent/launch-messages.ts';
import type { ExitCode } from '../common/exit-code.ts';

export type AgentExit =
  | { readonly kind: 'complete' }
  /** Without work, but the states of others have some. */
  | { readonly kind: 'unfinished'; readonly reason: string }
  /** On command, after it has handed over its hosts. */
  | { readonly kind: 'left'; readonly reason: string }
  /** Stopped; the next launch continues the crawl. */
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'failed'; readonly code: ExitCode; readonly reason: string }
  | { readonly kind: 'killed'; readonly signal: string }
  /**
   * By a signal that the process caused itself, for example when its heap was full.
   * `outOfMemory`: the system killed it because the machine or the container had no memory left.
   */
  | { readonly kind: 'crashed'; readonly signal: string; readonly outOfMemory?: true };

/** Signals that a fault of the process itself causes. */
const crashSignals = /^SIG(ABRT|BUS|FPE|ILL|SEGV|SYS|TRAP)$/;

/**
 * @param last - the agent's last message; null if it sent none
 * @param code - exit code of its process; null if a signal ended it
 * @param ranOut - whether the system has killed processes for lack of memory while the agent ran
 */
export function exitOf(
  last: Extract<FromAgent, { type: 'ended' }> | null,
  code: number | null,
  signal: string | null,
  ranOut = false,
): AgentExit {
  if (last === null) {
    if (code === null && signal === 'SIGKILL' && ranOut) {
      return { kind: 'crashed', signal, outOfMemory: true };
    }
    if (code === null) {
      const kind = crashSignals.test(signal ?? '') ? 'crashed' : 'killed';
      return { kind, signal: signal ?? 'a signal' };
    }
    if (code === 11) return { kind: 'interrupted' };
    return { kind: 'failed', code: exitCodeOf(code), reason: `ended with code ${code}` };
  }
  const { endKind, reason } = last;
  if (endKind === 'complete' || endKind === 'interrupted') return { kind: endKind };
  if (endKind === 'left' || endKind === 'unfinished') return { kind: endKind, reason };
  return { kind: 'failed', code: exitCodeOf(last.code), reason };
}

function exitCodeOf(code: number): ExitCode {
  const known: readonly ExitCode[] = [2, 3, 4, 5, 11];
  return known.find((one) => one === code) ?? 1;
}

/**
 * The exit code of the launch: 0 if the crawl is complete, even if agents have died; 11 if the
 * launch was stopped or no agent failed; otherwise the code of the first agent that failed. A crash
 * is a failure with code 1.
 *
 * @param exits - of all agents, in the order of their exits
 * @param stopped - whether the launch has received a signal to stop
 */
export function verdictOf(exits: readonly AgentExit[], stopped: boolean): ExitCode {
  if (exits.some(({ kind }) => kind === 'complete')) return 0;
  if (stopped) return 11;
  const failure = exits.find(({ kind }) => kind === 'failed' || kind === 'crashed');
  if (failure === undefined) return 11;
  return failure.kind === 'failed' ? failure.code : 1;
}

/** The last line of a launch that exits with 11. */
export function interruptionText(exits: readonly AgentExit[]): string {
  // The next launch would start the same agents, which have no work.
  return exits.every(({ kind }) => kind === 'unfinished')
    ? 'the crawl is not complete; start the agents named above'
    : 'interrupted; run launch again to continue';
}

/** A short text for the summary table. */
export function exitText(exit: AgentExit): string {
  if (exit.kind === 'failed') return `failed (${exit.code})`;
  return 'signal' in exit ? `${exit.kind} (${exit.signal})` : exit.kind;
}
