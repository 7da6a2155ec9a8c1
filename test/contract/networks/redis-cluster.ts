// A Redis Cluster of servers of this machine, without program beside redis-server: three nodes that
// have a third of the slots each, and replicas if a test adds them.

import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { freePort } from '../../../bench/ports.ts';
import { RedisProcess } from './redis-process.ts';

/** Between looks at a state that comes by itself; the test's own limit ends the wait. */
const lookMs = 5;
const slots = 16_384;
const nodesMin = 3;
/** After this time without answer a node counts as failed. */
const nodeTimeoutMs = 1000;

export class RedisCluster {
  readonly nodes: RedisProcess[] = [];
  readonly #busPorts: number[] = [];

  static async start(): Promise<RedisCluster> {
    const cluster = new RedisCluster();
    for (let k = 0; k < nodesMin; k++) {
      await cluster.#startNode();
      const first = String(Math.ceil((k * slots) / nodesMin));
      const last = String(Math.ceil(((k + 1) * slots) / nodesMin) - 1);
      await cluster.command(k, 'CLUSTER', 'ADDSLOTSRANGE', first, last);
      await cluster.command(k, 'CLUSTER', 'SET-CONFIG-EPOCH', String(k + 1));
    }
    for (let k = 1; k < nodesMin; k++) await cluster.#meet(k);
    await cluster.settled('ok');
    return cluster;
  }

  /** Sends one command to a node. */
  async command(node: number, ...args: string[]): Promise<unknown> {
    const client = createClient({
      url: this.nodes[node]!.url(),
      socket: { reconnectStrategy: false },
    });
    client.on('error', () => {});
    await client.connect();
    try {
      return await client.sendCommand(args);
    } finally {
      client.destroy();
    }
  }

  /** Resolves when the nodes that run agree that the cluster is in this state. */
  async settled(state: 'ok' | 'fail'): Promise<void> {
    for (const [k, node] of this.nodes.entries()) {
      while (node.isRunning) {
        const info = String(await this.command(k, 'CLUSTER', 'INFO'));
        const known = /cluster_known_nodes:(\d+)/.exec(info)?.[1];
        const knowsAll = known === String(this.nodes.length);
        if (knowsAll && info.includes(`cluster_state:${state}`)) break;
        await pause(lookMs);
      }
    }
  }

  async slotOf(key: string): Promise<number> {
    return Number(await this.command(0, 'CLUSTER', 'KEYSLOT', key));
  }

  /** The node that has the slot, by the account of one that runs. */
  async ownerOf(slot: number): Promise<number> {
    const asked = this.nodes.findIndex((node) => node.isRunning);
    const ranges = (await this.command(asked, 'CLUSTER', 'SLOTS')) as [number, number, unknown[]][];
    const range = ranges.find(([first, last]) => slot >= first && slot <= last)!;
    return this.nodes.findIndex(({ port }) => port === range[2][1]);
  }

  /** Begins to move a slot. Until `finishMove` its keys are on two nodes. */
  async beginMove(slot: number, from: number, to: number): Promise<void> {
    const [source, target] = [await this.#id(from), await this.#id(to)];
    await this.command(to, 'CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', source);
    await this.command(from, 'CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', target);
  }

  /** Moves those keys of the slot whose names match. */
  async moveKeys(slot: number, from: number, to: number, which = /^/): Promise<void> {
    const found = await this.command(from, 'CLUSTER', 'GETKEYSINSLOT', String(slot), '10000');
    const keys = (found as string[]).filter((key) => which.test(key));
    const target = ['127.0.0.1', String(this.nodes[to]!.port), '', '0', '10000'];
    if (keys.length > 0) await this.command(from, 'MIGRATE', ...target, 'KEYS', ...keys);
  }

  async finishMove(slot: number, to: number): Promise<void> {
    const target = await this.#id(to);
    // The new owner first, so that no other node can be told that the old one has the slot again.
    const others = this.nodes.keys().filter((k) => k !== to);
    for (const k of [to, ...others]) {
      await this.command(k, 'CLUSTER', 'SETSLOT', String(slot), 'NODE', target);
    }
  }

  async move(slot: number, from: number, to: number): Promise<void> {
    await this.beginMove(slot, from, to);
    // Writers may add keys meanwhile.
    do await this.moveKeys(slot, from, to);
    while (Number(await this.command(from, 'CLUSTER', 'COUNTKEYSINSLOT', String(slot))) > 0);
    await this.finishMove(slot, to);
  }

  /** Adds a replica of a node, which has all its keys when the promise resolves. */
  async addReplica(of: number): Promise<void> {
    const k = this.nodes.length;
    await this.#startNode();
    await this.#meet(k);
    await this.settled('ok');
    await this.command(k, 'CLUSTER', 'REPLICATE', await this.#id(of));
    while (!String(await this.command(k, 'INFO')).includes('master_link_status:up')) {
      await pause(lookMs);
    }
  }

  async #startNode(): Promise<void> {
    const busPort = await freePort();
    const enabled = ['--cluster-enabled', 'yes', '--cluster-port', String(busPort)];
    const timeout = ['--cluster-node-timeout', String(nodeTimeoutMs)];
    // By default a replica waits 5 s for others that need the same.
    const copies = ['--repl-diskless-sync-delay', '0'];
    this.nodes.push(await RedisProcess.start(...enabled, ...timeout, ...copies));
    this.#busPorts.push(busPort);
  }

  async #meet(node: number): Promise<void> {
    const [first] = this.nodes;
    const address = ['127.0.0.1', String(first!.port), String(this.#busPorts[0])];
    await this.command(node, 'CLUSTER', 'MEET', ...address);
  }

  async #id(node: number): Promise<string> {
    return String(await this.command(node, 'CLUSTER', 'MYID'));
  }
}
