// The setup shared by `budgets.test.ts` and `slow/budgets.test.ts`.

import { crowded } from '../checkers/addresses.ts';
import { Cluster } from './cluster.ts';
import { CALM } from './network.ts';
import { denseWeb } from './webs.ts';

export const IDS = ['a1', 'a2', 'a3', 'a4'];
export const IP_DELAY_MS = 50;
export const addressOf = (host: string) => `192.0.2.${Number(/\d+/.exec(host)?.[0] ?? 0) % 3}`;

export function shared(options: Partial<ConstructorParameters<typeof Cluster>[0]> = {}): Cluster {
  const web = denseWeb(20, 6);
  const seeds = [...web.keys()].slice(0, 20);
  const base = { ids: IDS, web, seeds, ipDelayMs: IP_DELAY_MS, addressOf };
  const cluster = new Cluster({ ...base, weather: { ...CALM, loss: 0.02 }, ...options });
  cluster.startAll();
  return cluster;
}

export function gaps(cluster: Cluster): string[] {
  const rules = { delayMs: IP_DELAY_MS, toleranceMs: 0 };
  return crowded(cluster.log, ({ host }) => addressOf(host), rules);
}
