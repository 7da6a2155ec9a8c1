// The operator's orders as words of a command: what `pause`, `resume`, `block` and `delay` mean,
// and the stamped order as one word for the other agents. Used by agent/control/control.ts on what comes
// from command-line tools and from members, so nothing is believed unchecked.

import { parseHostPattern } from '../../config/values/host.ts';
import type { ControlVerb, Order } from '../core/protocol/messages.ts';
import { DELAY_MS_MAX, HOST_CHARS_MAX } from './limits.ts';
import { isOrder } from './validate.ts';

/** Says instead of a value that an order is taken back. */
export const TAKEN_BACK = 'off';

type What = Pick<Order, 'kind' | 'host' | 'value'>;

/** @returns the order that a command means, or what is wrong with it */
export function orderOf(verb: ControlVerb, args: readonly string[]): What | string {
  const [host = '', value] = args;
  if (verb === 'pause') return { kind: 'pause', host: '', value: 1 };
  if (verb === 'resume') return { kind: 'pause', host: '', value: null };
  if (verb !== 'block' && verb !== 'delay') return `${verb} is no order`;
  // A longer one would be in every WELCOME, which nobody who joins could read any more.
  const isPattern = parseHostPattern(host) === host && host.length <= HOST_CHARS_MAX;
  if (!isPattern) return `not a host, *.host or *: ${host}`;
  if (verb === 'block') return { kind: 'block', host, value: value === TAKEN_BACK ? null : 1 };
  if (value === TAKEN_BACK) return { kind: 'delay', host, value: null };
  const ms = /^\d{1,8}$/.test(value ?? '') ? Number(value) : Number.NaN;
  if (!(ms <= DELAY_MS_MAX)) return `a delay is 0 to ${DELAY_MS_MAX} milliseconds`;
  return { kind: 'delay', host, value: ms };
}

export function wordOfOrder(order: Order): string {
  return JSON.stringify(order);
}

/** @returns null where it is none */
export function orderFromWord(word: string): Order | null {
  try {
    const order: unknown = JSON.parse(word);
    return isOrder(order) ? order : null;
  } catch {
    return null;
  }
}

/** What an agent answers to an order that is forwarded to it. */
export interface OrderAnswer {
  /** `applied`, or why not. */
  readonly said: string;
  /** Hosts of that agent that the order names. */
  readonly hosts: number;
  /** Of a block that was taken back: the pattern that still blocks its hosts. */
  readonly stillBlockedBy?: string;
}

/** What the agents together answer to an order. */
export interface OrderSummary {
  /** `applied`, `unreachable`, or why not, by agent. */
  readonly agents: Readonly<Record<string, string>>;
  readonly hosts: number;
  readonly stillBlockedBy?: string;
}

export function orderSummary(
  answers: ReadonlyMap<string, unknown>,
  silent: Iterable<string>,
): OrderSummary {
  const agents: Record<string, string> = {};
  let hosts = 0;
  let still: string | undefined;
  for (const [id, answer] of answers) {
    // Anything may come from a peer.
    const { said = 'not understood', ...rest } = (answer ?? {}) as Partial<OrderAnswer>;
    agents[id] = String(said);
    hosts += Number.isSafeInteger(rest.hosts) ? rest.hosts! : 0;
    still ??= rest.stillBlockedBy;
  }
  for (const id of silent) agents[id] = 'unreachable';
  return { agents, hosts, ...(still !== undefined && { stillBlockedBy: String(still) }) };
}
