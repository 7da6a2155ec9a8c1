// Removals of rules about rows and their copies that need more than a line in `mutations.ts`. Each
// is the most natural reading of an earlier wording.

import { HandOff } from '../../agent/core/hand-off/hand-off.ts';
import type { RowEvent } from '../../agent/core/protocol/messages.ts';
import { SqliteStore } from '../../agent/storage/sqlite-store.ts';
import { splitIdentity } from '../../agent/url/url-key.ts';
import { Cluster } from './cluster.ts';
import { changeSent, replace, type Undo } from './undo.ts';

/**
 * A page gets its number when it is fetched, so the stream waits there until the page is settled.
 */
export function doneAtFetch(): Undo[] {
  const unsettled = new WeakMap<SqliteStore, Map<string, Map<string, number>>>();
  const of = (store: SqliteStore, host: string): Map<string, number> => {
    const hosts = unsettled.get(store) ?? new Map<string, Map<string, number>>();
    unsettled.set(store, hosts);
    const urls = hosts.get(host) ?? new Map<string, number>();
    hosts.set(host, urls);
    return urls;
  };
  return [
    replace(SqliteStore.prototype, 'recordPage', (was) => {
      return function (this: SqliteStore, hostNumber, page) {
        was.call(this, hostNumber, page);
        this.raiseCounter(0);
        of(this, splitIdentity(page.url)!.host).set(page.url, this.counter());
      };
    }),
    replace(SqliteStore.prototype, 'settle', (was) => {
      return function (this: SqliteStore, host, url) {
        of(this, host).delete(url);
        was.call(this, host, url);
      };
    }),
    replace(SqliteStore.prototype, 'rowEvents', (was) => {
      return function (this: SqliteStore, host, after, max, arrivesBy) {
        const read = was.call(this, host, after, max, arrivesBy);
        const wall = Math.min(...of(this, host).values());
        const events = read.events.filter(({ n }) => n < wall);
        if (events.length === read.events.length) return read;
        return { events, to: events.at(-1)?.n ?? after };
      };
    }),
  ];
}

/** A row has the number of its latest change, and is sent once, in its current state. */
export function movingNumbers(): Undo[] {
  return [
    replace(SqliteStore.prototype, 'rowEvents', (was) => {
      return function (this: SqliteStore, host, after, max, arrivesBy) {
        const read = was.call(this, host, after, max, arrivesBy);
        const last = was.call(this, host, 0, 1e9, arrivesBy).events;
        const done = new Set(last.filter((e) => e.kind === 'done').map((e) => e.key));
        const foundOf = new Map(
          last.flatMap((e) => (e.kind === 'found' ? [[e.key, e] as const] : [])),
        );
        const events = read.events.flatMap((event): RowEvent[] => {
          if (event.kind === 'robots') return [event];
          if (event.kind === 'found') return done.has(event.key) ? [] : [event];
          const found = foundOf.get(event.key);
          return found ? [{ ...found, n: event.n }, event] : [event];
        });
        return { events, to: read.to };
      };
    }),
  ];
}

/** An agent accepts URLs of other owners, acknowledges them and forwards them. */
export function forwardAck(): Undo[] {
  const batches = new Map<string, readonly { url: string; depth: number }[]>();
  return [
    replace(Cluster.prototype, 'deliver', (was) => {
      return function (this: Cluster, to, envelope) {
        const { message, from } = envelope;
        if (message.type === 'URLS') {
          batches.set(`${to} ${from.id}.${from.inc} ${message.batch}`, message.urls);
        }
        was.call(this, to, envelope);
      };
    }),
    changeSent('URLS_ACK', (message, cluster, agent, to) => {
      if (message.notMine.length === 0) return message;
      const members = cluster.snapshot(agent.id).members;
      const peer = members.find((m) => m.id === to);
      const urls = batches.get(`${agent.id} ${to}.${peer?.inc} ${message.batch}`);
      if (!urls) return message;
      const ids = [agent.id, ...members.map((m) => m.id)];
      for (const index of message.notMine) {
        const item = urls[index]!;
        const { host } = splitIdentity(item.url)!;
        agent.store.addToOutbox(host, cluster.order(host, ids)[0]!, item);
      }
      return { ...message, notMine: [] };
    }),
  ];
}

/** A list names the hosts that the agent has crawled, without the copies it keeps. */
export function listHeldOnly(): Undo[] {
  const crawled = new WeakMap<HandOff, Set<string>>();
  return [
    replace(HandOff.prototype, 'awaits', (was) => {
      // Called for every host that this agent owns and is about to visit, and for no other.
      return function (this: HandOff, host) {
        const hosts = crawled.get(this) ?? new Set<string>();
        crawled.set(this, hosts.add(host));
        return was.call(this, host);
      };
    }),
    replace(HandOff.prototype, 'giveFrom', (was) => {
      return function (this: HandOff, to, source, now, leavers) {
        const names = (host: string) =>
          source.names(host) && (crawled.get(this)?.has(host) ?? false);
        was.call(this, to, { ...source, names }, now, leavers);
      };
    }),
  ];
}

/** An agent outside the preference list deletes its copy as soon as the view changes. */
export function pruneAtOnce(): Undo[] {
  const views = new WeakMap<object, readonly string[]>();
  return [
    replace(Cluster.prototype, 'afterTurn', (was) => {
      return function (this: Cluster, agent, effects) {
        was.call(this, agent, effects);
        const { joined, members } = this.snapshot(agent.id);
        const ids = [agent.id, ...members.map((m) => m.id)].sort();
        const before = views.get(agent.core) ?? ids;
        views.set(agent.core, ids);
        if (!joined || before.join() === ids.join()) return;
        agent.store.begin();
        for (const host of agent.store.hosts()) {
          const hasPlace = this.order(host, ids)
            .slice(0, this.backups + 1)
            .includes(agent.id);
          if (!hasPlace && this.order(host, before)[0] !== agent.id) agent.store.deleteHost(host);
        }
        agent.store.commit(false);
      };
    }),
  ];
}
