// The network of a storm: a proxy in front of each agent, through which all others reach it, and
// the combined effect of the active faults on each. Faults begin and end in any order, and each
// reverts only its own effect.

import { freePorts } from '../../bench/ports.ts';
import { Random } from '../simulation/random.ts';
import { NetworkProxy, type ProxyFault } from './network-proxy.ts';

/** The messages of one agent to another. */
export interface Link {
  readonly from: string;
  readonly to: string;
}

interface OpenCut {
  readonly links: readonly Link[];
  /** As in `Cuts` of the proxy. */
  readonly heldMsMax: number;
}

interface OpenFault {
  /** The agents whose incoming stream is affected. */
  readonly at: readonly string[];
  readonly fault: ProxyFault;
}

export class StormNetwork {
  readonly #proxies: ReadonlyMap<string, NetworkProxy>;
  readonly #cuts = new Set<OpenCut>();
  readonly #faults = new Set<OpenFault>();
  /** Listen and public addresses of the agents, in the order of their numbers. */
  readonly listeners: readonly { readonly listen: string; readonly address: string }[];

  private constructor(ports: readonly number[], proxies: readonly NetworkProxy[]) {
    this.#proxies = new Map(proxies.map((proxy, k) => [`a${k + 1}`, proxy]));
    this.listeners = proxies.map(({ address }, k) => {
      return { listen: `tcp://127.0.0.1:${ports[k]}`, address };
    });
  }

  /** For the agents a1 to aN. `seed` decides the fate of each message. */
  static async start(agents: number, seed: number): Promise<StormNetwork> {
    const ports = await freePorts(agents);
    const random = new Random(seed);
    const proxies = await Promise.all(ports.map((port) => NetworkProxy.start(port, random)));
    return new StormNetwork(ports, proxies);
  }

  /** Cuts the links until the returned function is called. */
  cut(links: readonly Link[], heldMsMax: number): () => void {
    return this.#while(this.#cuts, { links, heldMsMax });
  }

  /** Disturbs the streams until the returned function is called. */
  disturb(at: readonly string[], fault: ProxyFault): () => void {
    return this.#while(this.#faults, { at, fault });
  }

  /** The counts of all proxies together. */
  counts(): NetworkProxy['counts'] {
    const all = [...this.#proxies.values()].map(({ counts }) => counts);
    const names = Object.keys(all[0]!) as (keyof NetworkProxy['counts'])[];
    const sums = names.map((name) => [name, all.reduce((sum, one) => sum + one[name], 0)]);
    return Object.fromEntries(sums) as NetworkProxy['counts'];
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#proxies.values()].map((proxy) => proxy.stop()));
  }

  #while<T>(open: Set<T>, one: T): () => void {
    open.add(one);
    this.#set();
    return () => {
      open.delete(one);
      this.#set();
    };
  }

  #set(): void {
    for (const [id, proxy] of this.#proxies) {
      const faults = [...this.#faults].filter(({ at }) => at.includes(id));
      proxy.fault = Object.assign({}, ...faults.map(({ fault }) => fault)) as ProxyFault;
      const cuts = [...this.#cuts].flatMap(({ links, heldMsMax }) => {
        return links.filter(({ to }) => to === id).map(({ from }) => [from, heldMsMax] as const);
      });
      proxy.cuts = new Map(cuts);
    }
  }
}
