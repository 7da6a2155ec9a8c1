// Parses the operator's directives from command arguments (`pause`, `block`, `threads` and so on), encodes
// a directive as one argument for other agents, and sums up their responses. All input comes from
// other processes and is checked.

import { parseHostPattern } from '../../config/values/host.ts';
import type { ControlVerb, Directive } from '../core/protocol/messages.ts';
import { CAPACITY_MAX, DELAY_MS_MAX, HOST_CHARS_MAX, THREADS_MAX } from './checks/limits.ts';
import { isDirective } from './checks/validate.ts';

/** The argument that revokes a directive, in place of a value. */
export const TAKEN_BACK = 'off';

type What = Pick<Directive, 'kind' | 'host' | 'value'>;

/** @returns the directive, or what is wrong with the command */
export function directiveOf(verb: ControlVerb, args: readonly string[]): What | string {
  const [host = '', value] = args;
  if (verb === 'pause') return { kind: 'pause', host: '', value: 1 };
  if (verb === 'resume') return { kind: 'pause', host: '', value: null };
  if (verb === 'drain') return ofAgent(verb, host, '1');
  if (verb === 'undrain') return ofAgent('drain', host, TAKEN_BACK);
  if (verb === 'threads' || verb === 'capacity') return ofAgent(verb, host, value);
  if (verb !== 'block' && verb !== 'delay') return `${verb} is not a directive`;
  // Directives are part of each WELCOME. With a longer pattern joining agents would refuse it.
  const isPattern = parseHostPattern(host) === host && host.length <= HOST_CHARS_MAX;
  if (!isPattern) return `not a host, *.host or *: ${host}`;
  if (verb === 'block') return { kind: 'block', host, value: value === TAKEN_BACK ? null : 1 };
  if (value === TAKEN_BACK) return { kind: 'delay', host, value: null };
  const ms = /^\d{1,8}$/.test(value ?? '') ? Number(value) : Number.NaN;
  if (!(ms <= DELAY_MS_MAX)) return `a delay is 0 to ${DELAY_MS_MAX} milliseconds`;
  return { kind: 'delay', host, value: ms };
}

/** A directive for one agent, or for all (`*`). */
function ofAgent(kind: 'drain' | 'capacity' | 'threads', host: string, value = ''): What | string {
  const isNumber = /^(\d{1,8}\.?\d{0,24}|\.\d{1,24})(e[-+]?\d)?$/i.test(value);
  const number = value === TAKEN_BACK ? null : isNumber ? Number(value) : Number.NaN;
  const what = { kind, host, value: number };
  const isMany = host === '*' && kind !== 'threads';
  if (!isMany && isDirective({ ...what, n: 1, by: host })) return what;
  if (kind === 'drain') return `not an agent: ${host}; write its identifier`;
  const range =
    kind === 'threads' ? `from 1 to ${THREADS_MAX}` : `above 0, at most ${CAPACITY_MAX}`;
  const given = `${kind} ${host === '*' ? 'all' : host} ${value}`;
  return `not valid: ${given}; write the identifier of an agent and a number ${range}`;
}

export function directiveText(directive: Directive): string {
  return JSON.stringify(directive);
}

/** @returns null if the text is not a valid directive */
export function parseDirective(text: string): Directive | null {
  try {
    const directive: unknown = JSON.parse(text);
    return isDirective(directive) ? directive : null;
  } catch {
    return null;
  }
}

/** An agent's response to a directive. */
export interface DirectiveAnswer {
  /** `applied`, or the reason why it was not. */
  readonly said: string;
  /** Number of hosts of that agent that match the directive. */
  readonly hosts: number;
  /** For a revoked block: the pattern that still blocks its hosts. */
  readonly stillBlockedBy?: string;
}

/** The responses of all agents to a directive. */
export interface DirectiveSummary {
  /** By agent: `applied`, `unreachable`, or the reason why it was not applied. */
  readonly agents: Readonly<Record<string, string>>;
  readonly hosts: number;
  readonly stillBlockedBy?: string;
}

export function directiveSummary(
  answers: ReadonlyMap<string, unknown>,
  silent: Iterable<string>,
): DirectiveSummary {
  const agents: Record<string, string> = {};
  let hosts = 0;
  let still: string | undefined;
  for (const [id, answer] of answers) {
    // A peer may send any JSON.
    const { said = 'not understood', ...rest } = (answer ?? {}) as Partial<DirectiveAnswer>;
    agents[id] = String(said);
    hosts += Number.isSafeInteger(rest.hosts) ? rest.hosts! : 0;
    still ??= rest.stillBlockedBy;
  }
  for (const id of silent) agents[id] = 'unreachable';
  return { agents, hosts, ...(still !== undefined && { stillBlockedBy: String(still) }) };
}
