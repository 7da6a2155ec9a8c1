// A cluster on the overlay kademlia for the scripted flows of Tao and Xiang (2016). Its agents know
// only some of the others. Three long chains of pages keep the crawl running, and a test lets their
// next pages link to the tasks that it follows. Which agents are closest to a key is computed here
// from the paper's definition, and not by the product.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { AgentId, Message } from '../../agent/core/protocol/messages.ts';
import { rowsOf, type StateRow } from '../checkers/evidence.ts';
import { Cluster, SUSPECT_MS } from './cluster.ts';

const STARTED: readonly AgentId[] = Array.from({ length: 20 }, (_, i) => `a${i + 1}`);
/** The only agent that all others know when they start. */
export const BOOTSTRAP = 'a1';
/** The copies of a task are at the closest agents after the first. */
export const COPIES = 2;
/** The agents whose chains of pages link to the tasks. */
export const FINDERS = ['a3', 'a6', 'a10'] as const;
const CHAIN_PAGES = 600;

export function keyOf(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}

/** The key of the agent's only identifier. */
export function identifierOf(id: AgentId): string {
  return keyOf(`${id}/0`);
}

/** The agents by the distance of their identifiers to a key: the closest first. */
export function closestTo(key: string, ids: readonly AgentId[]): AgentId[] {
  const distance = (id: AgentId) => BigInt(`0x${key}`) ^ BigInt(`0x${identifierOf(id)}`);
  return ids.toSorted((a, b) => (distance(a) < distance(b) ? -1 : 1));
}

/** The first of `x0`, `x1` and so on that fits. */
export function firstName(prefix: string, fits: (name: string) => boolean): string {
  for (let n = 0; n < 100_000; n++) if (fits(`${prefix}${n}`)) return `${prefix}${n}`;
  throw new Error(`no name with ${prefix} fits`);
}

interface Between {
  readonly from?: AgentId;
  readonly to?: AgentId;
}

export class PaperStage {
  readonly cluster: Cluster;
  readonly #web = new Map<string, readonly string[]>();
  readonly #chains: readonly string[];

  /** All agents have joined, and then have parted from those that they need not know. */
  constructor() {
    this.#chains = FINDERS.map((id) => this.#chainOf(id));
    this.cluster = new Cluster({
      ids: STARTED,
      web: this.#web,
      seeds: this.#chains.map((host) => `http://${host}/p0`),
      backups: COPIES,
      kademlia: { contacts: [BOOTSTRAP], ids: 1, neighbourhood: COPIES + 3, bucketSize: 4 },
      delayMs: 100,
    });
    this.cluster.startAll();
    const all = () => STARTED.map((id) => this.cluster.snapshot(id));
    this.cluster.runUntil('all have joined', () => all().every(({ joined }) => joined));
    this.cluster.run(2 * SUSPECT_MS);
    for (const { id, members } of all()) {
      assert.ok(members.length < STARTED.length / 2, `${id} knows ${members.length} others`);
    }
  }

  #chainOf(finder: AgentId): string {
    const isIts = (name: string) => closestTo(keyOf(`${name}.test`), STARTED)[0] === finder;
    const host = `${firstName('chain', isIts)}.test`;
    for (let p = 0; p < CHAIN_PAGES; p++) {
      this.#web.set(`http://${host}/p${p}`, [`http://${host}/p${p + 1}`]);
    }
    return host;
  }

  get now(): number {
    return this.cluster.now;
  }

  /** The running agents. */
  get ids(): AgentId[] {
    return this.cluster.living().map(({ id }) => id);
  }

  /** The agents that an agent knows. */
  viewOf(id: AgentId): AgentId[] {
    return this.cluster.snapshot(id).members.map((member) => member.id);
  }

  /** A host whose closest agents, among those that run or the given ones, fit. */
  hostWhere(fits: (closest: AgentId[]) => boolean, ids = this.ids): string {
    const used = new Set([...this.#web.keys()].map((url) => new URL(url).hostname));
    const isNew = (name: string) => !used.has(`${name}.test`);
    const ranks = (name: string) => closestTo(keyOf(`${name}.test`), ids);
    return `${firstName('host', (name) => isNew(name) && fits(ranks(name)))}.test`;
  }

  /** Some pages of a host, all of which link to the first one. */
  tasks(host: string, count: number): string[] {
    const urls = Array.from({ length: count }, (_, p) => `http://${host}/p${p}`);
    for (const url of urls) this.#web.set(url, urls.slice(0, 1));
    return urls;
  }

  /** Runs until the condition holds; fails after ten seconds of virtual time. */
  until(what: string, holds: () => boolean): void {
    this.cluster.runUntil(what, holds, 10_000);
  }

  /** The next page of the finder's chain links to the tasks. */
  link(finder: (typeof FINDERS)[number], tasks: readonly string[]): void {
    const host = this.#chains[FINDERS.indexOf(finder)]!;
    // The chain's page p is requested after its robots.txt and the pages before.
    const page = `http://${host}/p${this.visits(host).length}`;
    this.#web.set(page, [...tasks, ...this.#web.get(page)!]);
  }

  /** Links to the tasks and runs until the closest agents and their backups have all of them. */
  give(finder: (typeof FINDERS)[number], tasks: readonly string[]): void {
    this.link(finder, tasks);
    const ranks = (url: string) => closestTo(keyOf(new URL(url).hostname), this.ids);
    this.until('the tasks are queued and copied', () => {
      return tasks.every((url) => {
        return ranks(url)
          .slice(0, COPIES + 1)
          .every((id) => this.rows(id, url).length > 0);
      });
    });
  }

  /** The rows of a host, or that of a URL, in the state file of an agent. */
  rows(id: AgentId, of: string): StateRow[] {
    const all = rowsOf(this.cluster.disks.get(id)!.db);
    return [...all.values()].filter(({ host, url }) => host === of || url === of);
  }

  /** The URLs of these tasks that an agent has as queued or in flight. */
  queued(id: AgentId, host: string): string[] {
    return this.rows(id, host)
      .filter(({ state }) => state === 'queued')
      .map(({ url }) => url);
  }

  /** The agents that an agent suspected and removed, from its state file. */
  suspicions(id: AgentId): unknown[] {
    const sql = "SELECT detail ->> 'agent' FROM events WHERE kind = 'suspect'";
    return this.cluster.disks.get(id)!.db.prepare<[], unknown>(sql).pluck().all();
  }

  /** The messages of a type since a moment, in the order in which they were sent. */
  sent<T extends Message['type']>(type: T, since: number, between: Between = {}) {
    return this.cluster.sent.flatMap(({ from, to, message, at }, index) => {
      if (message.type !== type || at < since) return [];
      if (between.from !== undefined && from !== between.from) return [];
      if (between.to !== undefined && to !== between.to) return [];
      return [{ from, to, at, index, message: message as Extract<Message, { type: T }> }];
    });
  }

  /** The ROWS with events of a host, with their answers. */
  copies(host: string, since: number, between: Between = {}) {
    const acks = this.sent('ROWS_ACK', since);
    return this.sent('ROWS', since, between).flatMap(({ from, to, at, index, message }) => {
      const item = message.items.find((one) => one.host === host && one.events.length > 0);
      const ack = acks.find((one) => {
        return one.from === to && one.to === from && one.message.number === message.number;
      });
      return item ? [{ from, to, at, index, events: item.events, ack }] : [];
    });
  }

  /** The requests for pages of a host. */
  visits(host: string, since = 0) {
    return this.cluster.log.filter((visit) => {
      return visit.host === host && visit.start >= since && !visit.url.endsWith('/robots.txt');
    });
  }
}
