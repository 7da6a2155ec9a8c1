// How much work a turn of a simulated agent is, in units that no machine's speed changes: rows that
// its statements read or wrote, and look-ups in the ring. One unit stands for some microseconds of a
// real agent, so that the cost of a turn can be part of virtual time, and a turn that would hold up
// the heartbeats of a real agent fails a test at once.

import type { Statement } from 'better-sqlite3';
import type { TurnSlice } from '../../agent/core/protocol/backlog.ts';
import type { Connection } from '../../agent/storage/encoding/connection.ts';
import type { Assignment } from '../../assignment/assignment.ts';

/** Inserting a link costs three units and 15 microseconds of a core of this class of machines. */
const UNITS_PER_MS = 200;
/** A look-up in the ring takes a microsecond. */
const LOOKUP = 0.2;

/** No turn may be more: 100 milliseconds. */
export const TURN_UNITS_MAX = 100 * UNITS_PER_MS;
/** The inputs of a turn, and its share of the backlog, are each 10 milliseconds. */
export const SLICE_UNITS = 10 * UNITS_PER_MS;

type Counted = Pick<Statement, 'run' | 'get' | 'all' | 'iterate' | 'pluck'>;

export class Work {
  #units = 0;

  get units(): number {
    return this.#units;
  }

  /** What a turn of so many units takes of virtual time. */
  static msOf(units: number): number {
    return units / UNITS_PER_MS;
  }

  /** The connection, with each row of its statements counted here. */
  counted(db: Connection): Connection {
    return new Proxy(db, {
      get: (target, name) => {
        if (name === 'prepare') return (sql: string) => this.#countedStatement(db.prepare(sql));
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  #countedStatement(statement: Statement): Counted {
    const add = (rows: number) => {
      this.#units += rows;
    };
    const counted: Counted = {
      run: (...values) => {
        const result = statement.run(...values);
        add(1 + result.changes);
        return result;
      },
      get: (...values) => {
        add(1);
        return statement.get(...values);
      },
      all: (...values) => {
        const rows = statement.all(...values);
        add(1 + rows.length);
        return rows;
      },
      *iterate(...values) {
        for (const row of statement.iterate(...values)) {
          add(1);
          yield row;
        }
      },
      pluck: () => {
        statement.pluck();
        return counted as Statement;
      },
    };
    return counted;
  }

  /** The ring, with each look-up counted here. */
  countedRing(ring: Assignment): Assignment {
    return {
      owner: (host) => {
        this.#units += LOOKUP;
        return ring.owner(host);
      },
      order: (host, count) => {
        this.#units += LOOKUP;
        return ring.order(host, count);
      },
    };
  }

  /** A slice of so many units. */
  slice(units: number): TurnSlice {
    let end = 0;
    return {
      begin: () => {
        end = this.#units + units;
      },
      mayGoOn: () => this.#units < end,
    };
  }
}
