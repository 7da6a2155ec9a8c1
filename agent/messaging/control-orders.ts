// The operator's orders as words of a command: what `pause`, `resume`, `block` and `delay` mean,
// and the stamped order as one word for the other agents. Used by agent/control.ts on what comes
// from command-line tools and from members, so nothing is believed unchecked.

import type { ControlVerb, Order } from '../core/messages.ts';
import { parseCrawlUrl } from '../url/crawl-url.ts';
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
  const url = parseCrawlUrl(`http://${host}/`);
  // A longer one would be in every WELCOME, which nobody who joins could read any more.
  const isHost = !('refused' in url) && url.host === host && host.length <= HOST_CHARS_MAX;
  if (!isHost) return `not a host: ${host}`;
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
