// What the visits are made of: the ports that they need of the core and the store, and what the config
// says of hosts and pages. `agent/composition/protocol.ts` fills it in.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Budgets } from '../../core/budgets/budgets.ts';
import type { Right } from '../../core/hand-off/fetch-right.ts';
import type { Effects } from '../../core/protocol/effects.ts';
import type { Host } from '../../core/protocol/messages.ts';
import type { UrlScope } from '../../url/request-scope.ts';
import type { FrontierStore } from '../frontier-store.ts';
import type { DelayRules } from '../host-delay.ts';
import type { TrapLog } from '../outcome/outcome-handling.ts';
import type { Chance } from '../outcome/retry.ts';
import type { AskOthers, RobotsLog } from '../outcome/robots-gate.ts';
import type { RobotsRules } from '../outcome/rules-cache.ts';

export interface VisitsParts {
  readonly store: FrontierStore;
  readonly effects: Effects;
  readonly events: TrapLog & RobotsLog;
  readonly right: {
    /** No host has the right now, whatever is found, and `wakeAll` follows when that ends. */
    readonly isShut: boolean;
    check(host: Host, now: Instant, neverFetched: boolean): Right;
    waitUntil(host: Host, untilMs: number): void;
  };
  /** What the operator has ordered, and the delays that follow from it and the config. */
  readonly orders: { blocks(host: Host): boolean; delayOf(host: Host): number };
  readonly scope: UrlScope;
  /** What the cluster shares: permits of addresses, and pages of the crawl. */
  readonly budgets?: Pick<Budgets, 'permits' | 'pages'>;
  readonly asks?: AskOthers;
  readonly threads: number;
  readonly delays: DelayRules;
  readonly chance: Chance;
  readonly heartbeatMs: number;
  readonly pagesPerHost: number;
  /** Stale pages at which the rest of a host is skipped; null: none. */
  readonly stalePages: number | null;
  readonly robots: boolean;
  /** Whether the links of each page are kept for the view `links`. */
  readonly keepLinks: boolean;
  readonly parseRobots: (body: Uint8Array) => RobotsRules;
}
