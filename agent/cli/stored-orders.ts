// The operator's orders as the state files have them, while no agent runs. `launch` names those in
// force, since a crawl that is paused or blocked looks like one that hangs. An order can be taken back
// there too: `block '*'` completes a crawl, and then no agent is left to be told.

import path from 'node:path';
import type { Config } from '../../config/config.ts';
import type { Order } from '../core/messages.ts';
import { wallMs } from '../runtime/clock.ts';
import { CRAWL_NAME } from '../storage/coverage-queries.ts';
import { type Opened, openState } from '../storage/database.ts';
import { ALL_ORDERS, OrderTable } from '../storage/order-table.ts';
import { readCompletion, removeCompletion } from './completion-file.ts';
import { shownCrawl } from './load.ts';
import { durationText, programName } from './output.ts';
import { foundAgents, openStateFile } from './query-files.ts';

/** Of so many a line each; the view `orders` has all. */
const shownMax = 10;

/** The latest word on each thing, as far as the files can be read; the newest first. */
function storedOrders(config: Config): Order[] {
  const latest = new Map<string, Order>();
  for (const order of statesOf(config).flatMap(({ orders }) => orders)) {
    const known = latest.get(keyOf(order));
    const isLater = !known || order.n > known.n || (order.n === known.n && order.by > known.by);
    if (isLater) latest.set(keyOf(order), order);
  }
  return [...latest.values()].sort((a, b) => b.n - a.n);
}

/** The states of this crawl in the data directory. */
function statesOf({ name, agent: { dataDir } }: Config) {
  return foundAgents(dataDir).flatMap((agent) => {
    const file = openStateFile(agent, path.join(dataDir, agent, 'state.sqlite'));
    if (typeof file === 'string') return [];
    try {
      const [[crawl] = []] = file.plainRows(CRAWL_NAME);
      if (crawl !== name) return [];
      const rows = [...file.plainRows(ALL_ORDERS)];
      const orders = rows.map(([kind, host, value, n, by]) => ({ kind, host, value, n, by }));
      return [{ agent, orders: orders as Order[] }];
    } catch {
      // Whoever needs the file says what is wrong with it.
      return [];
    } finally {
      file.close();
    }
  });
}

/** A line for each order in force, with the command that takes it back. */
export function ordersInForce(config: Config): string[] {
  const inForce = storedOrders(config).filter(isInForce);
  const lines = inForce.slice(0, shownMax).map((order) => `in force: ${textOf(order, config)}`);
  const more = inForce.length - shownMax;
  return more > 0 ? [...lines, `in force: ${more} more (view orders)`] : lines;
}

function textOf({ kind, host, value, by }: Order, config: Config): string {
  const command = (words: string) => `${programName()} ${words}`;
  const shown = shownCrawl(config);
  if (kind === 'pause') return `pause, given by ${by}; to end it: ${command(`resume ${shown}`)}`;
  const long = kind === 'delay' ? ` ${durationText(value ?? 0)}` : '';
  const takeBack = command(`${kind} ${shown} '${host}' --off`);
  return `${kind} ${host}${long}, given by ${by}; to take it back: ${takeBack}`;
}

export type TakenBack =
  /** Agents that have it on disk now. */
  | { readonly ok: true; readonly agents: readonly string[] }
  | { readonly ok: false; readonly message: string };

/** In all state files of the directory, of which no agent may run; on failure nothing was changed. */
export function takeBack(config: Config, words: Pick<Order, 'kind' | 'host'>): TakenBack {
  const { kind, host } = words;
  const known = storedOrders(config);
  const isThere = known.some((order) => keyOf(order) === keyOf(words) && isInForce(order));
  if (!isThere) {
    const what = kind === 'pause' ? 'the crawl is not paused' : 'no such order is in force';
    return { ok: false, message: [what, ...ordersInForce(config)].join('\n') };
  }
  const opened: (Opened & { ok: true })[] = [];
  try {
    const agents = statesOf(config).map(({ agent }) => agent);
    for (const agent of agents) {
      const directory = path.join(config.agent.dataDir, agent);
      const state = openState({ directory, crawl: config.name, agent });
      if (!state.ok) return { ok: false, message: state.message };
      opened.push(state);
    }
    const n = Math.max(...known.map((order) => order.n)) + 1;
    // First, since without the record a launch looks again, and without the order it finds nothing.
    if (kind === 'block' && readCompletion(config).kind === 'complete') {
      removeCompletion(config);
    }
    for (const { db } of opened) {
      new OrderTable(db).saveOrder({ kind, host, value: null, n, by: agents[0]! }, wallMs());
    }
    return { ok: true, agents };
  } finally {
    for (const { db, unlock } of opened) {
      db.close();
      unlock();
    }
  }
}

function isInForce({ kind, value }: Order): boolean {
  return value !== null && kind !== 'refresh';
}

function keyOf({ kind, host }: Pick<Order, 'kind' | 'host'>): string {
  return `${kind} ${host}`;
}
