// Counts the work of a turn of a simulated agent, in units that do not depend on the machine: rows
// that its statements read or wrote, and look-ups in the ring. A unit stands for some microseconds
// of a real agent. So the cost of a turn becomes part of virtual time, and a turn that would delay
// the heartbeats of a real agent fails a test at once.

import type { Statement } from 'better-sqlite3';
import type { TurnSlice } from '../../agent/core/protocol/backlog.ts';
import type { Connection } from '../../agent/storage/encoding/connection.ts';
import type { Assignment } from '../../assignment/assignment.ts';

/** Inserting a link costs three units and 15 microseconds on a core of current servers. */
const UNITS_PER_MS = 200;
/** A look-up in the ring takes one microsecond. */
const LOOKUP = 0.2;

/** Maximum work of a turn: 100 milliseconds. */
export const TURN_UNITS_MAX = 100 * UNITS_PER_MS;
/** The inputs of a turn and its share of the backlog may take 10 milliseconds each. */
export const SLICE_UNITS = 10 * UNITS_PER_MS;

type Counted = Pick<Statement, 'run' | 'get' | 'all' | 'iterate' | 'pluck'>;

export class Work {
  #units = 0;

  get units(): number {
    return this.#units;
  }

  /** Virtual time of a turn with the given units. */
  static msOf(units: number): number {
    return units / UNITS_PER_MS;
  }

  /** Wraps the connection, so that each row of its statements is counted. */
  counted(db: Connection): Connection {
    const prepare = (sql: string) => this.#countedStatement(db.prepare(sql));
    const bound = new Map<unknown, unknown>([[db.prepare, prepare]]);
    return new Proxy(db, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        const known = bound.get(value) ?? value.bind(target);
        bound.set(value, known);
        return known;
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

  /** Wraps the ring, so that each look-up is counted. */
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
      ...(ring.nearest && { nearest: (host: string) => ring.nearest?.(host) }),
    };
  }

  /** A slice of the given units. */
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
