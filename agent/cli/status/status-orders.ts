// The orders in force as `status` shows them: what the operator has blocked, slowed or paused, by
// which agent the order was given, and which agents are not known to have it.

import type { OrderInForce } from '../../core/protocol/orders.ts';
import { durationText, renderTable } from '../common/output.ts';

/** With the agents that are not known to have it. */
export interface ListedOrder extends OrderInForce {
  readonly missing: readonly string[];
}

/** @param ids - all agents, configured or heard of */
export function listedOrders(orders: readonly OrderInForce[], ids: readonly string[]) {
  return orders.map((order): ListedOrder => {
    return { ...order, missing: ids.filter((id) => !order.applied.includes(id)) };
  });
}

/** Null where there are none. */
export function ordersText(orders: readonly ListedOrder[]): string | null {
  if (orders.length === 0) return null;
  const columns = ['order', 'hosts', 'value', 'given by', 'not reached'];
  const rows = orders.map(({ kind, host, value, by, missing }) => {
    const said = kind === 'delay' && value !== null ? durationText(value) : '';
    return [kind, host, said, by, missing.join(', ')];
  });
  return renderTable(
    columns.map((title) => ({ title })),
    rows,
  );
}
