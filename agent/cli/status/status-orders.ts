// The operator's directives in force (pause, block, delay, refresh) in the output of `status`, with
// the agents that are not known to have received them.

import type { OrderInForce } from '../../core/protocol/orders.ts';
import { durationText, renderTable } from '../common/output.ts';

export interface ListedOrder extends OrderInForce {
  /** Agents that are not known to have received it. */
  readonly missing: readonly string[];
}

/** @param ids - all agents of the config and of the cluster's view */
export function listedOrders(orders: readonly OrderInForce[], ids: readonly string[]) {
  return orders.map((order): ListedOrder => {
    return { ...order, missing: ids.filter((id) => !order.applied.includes(id)) };
  });
}

/** Null if no directive is in force. */
export function ordersText(orders: readonly ListedOrder[]): string | null {
  if (orders.length === 0) return null;
  const columns = ['directive', 'hosts', 'value', 'given by', 'not reached'];
  const rows = orders.map(({ kind, host, value, by, missing }) => {
    const said = kind === 'delay' && value !== null ? durationText(value) : '';
    return [kind, host, said, by, missing.join(', ')];
  });
  return renderTable(
    columns.map((title) => ({ title })),
    rows,
  );
}
