// The operator's directives in an agent's file: one row for each kind and host, replaced by a later
// directive. The agent reads them once at the start and writes each change in the turn that
// receives it.

import type { Order } from '../../core/protocol/messages.ts';
import type { OrderStore } from '../../core/protocol/orders.ts';
import type { Connection } from '../encoding/connection.ts';

export class OrderTable implements OrderStore {
  readonly #s: ReturnType<typeof statements>;

  constructor(db: Connection) {
    this.#s = statements(db);
  }

  orders(): Order[] {
    return this.#s.all.all();
  }

  saveOrder(order: Order, at: number): void {
    this.#s.save.run({ ...order, at: Math.round(at) });
  }

  dropOrder({ kind, host }: Pick<Order, 'kind' | 'host'>): void {
    this.#s.drop.run(kind, host);
  }
}

function statements(db: Connection) {
  return {
    all: db.prepare<[], Order>(
      'SELECT kind, host, value, number AS n, agent AS "by" FROM order_rows',
    ),
    save: db.prepare<[Order & { readonly at: number }]>(
      `INSERT OR REPLACE INTO order_rows (kind, host, value, number, agent, applied_at)
       VALUES ($kind, $host, $value, $n, $by, $at)`,
    ),
    drop: db.prepare<[string, string]>('DELETE FROM order_rows WHERE kind = ? AND host = ?'),
  };
}
