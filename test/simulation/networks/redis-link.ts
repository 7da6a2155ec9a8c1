// A simulated server and the connections to it. A command takes a while there and back, and may be
// lost, answered too late, or executed after the sender has given it up.

import type { Pools } from '../../../agent/networks/pools.ts';
import type { Random } from '../random.ts';
import { type PoolsModel, RedisModel } from './redis-model.ts';
import type { VirtualTime } from './virtual-time.ts';

/** A command without an answer fails after this time. */
const COMMAND_MS = 400;

export class Server {
  readonly name: string;
  readonly model: RedisModel;
  isDown = false;
  /** Added to the time there and the time back, at most. */
  slowMs = 0;
  /** The share of commands that are lost on their way there or back, or late. */
  lossShare = 0;
  /** Executed commands, by name. */
  readonly commands = new Map<string, number>();

  constructor(name: string, time: VirtualTime) {
    this.name = name;
    this.model = new RedisModel(() => time.nowMs);
  }
}

/** One process's connection to the pools of a network. */
export function connect(
  server: Server,
  network: string,
  isCut: () => boolean,
  time: VirtualTime,
  random: Random,
): Pools {
  const model = server.model.pools(network);
  const legMs = () => random.between(0.5, 5) + random.between(0, server.slowMs);
  const call = <K extends keyof PoolsModel>(name: K, args: Parameters<PoolsModel[K]>) =>
    new Promise((resolve, reject) => {
      const fail = (why: string) => reject(new Error(`${network} at ${server.name}: ${why}`));
      if (isCut()) return time.after(COMMAND_MS, () => fail('no answer'));
      const fate = random.chance(server.lossShare) ? random.whole(0, 2) : -1;
      let thereMs = legMs();
      if (fate === 1) thereMs += COMMAND_MS * random.between(0.5, 4);
      const backMs = legMs();
      const execute = () => {
        if (server.isDown) return void fail('refused');
        if (fate === 0) return;
        server.commands.set(name, (server.commands.get(name) ?? 0) + 1);
        const run = model[name] as (...args: unknown[]) => unknown;
        // As over a connection, both sides have their own copies.
        const result = run(...args);
        if (fate !== 2) time.after(backMs, () => resolve(result));
      };
      time.after(thereMs, execute);
      time.after(COMMAND_MS, () => fail('no answer'));
    });
  return Object.fromEntries(
    Object.keys(model).map((name) => {
      const key = name as keyof PoolsModel;
      return [name, (...args: Parameters<PoolsModel[typeof key]>) => call(key, args)];
    }),
  ) as unknown as Pools;
}
