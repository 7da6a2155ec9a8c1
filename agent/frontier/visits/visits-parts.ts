// The dependencies of the visits: ports to the core and the store, and settings.

import type { Instant } from '../../../failure-detector/instant.ts';
import type { Budgets } from '../../core/budgets/budgets.ts';
import type { SharedHosts } from '../../core/crawl/networks-port.ts';
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
    /** Whether no host has the fetch right now; `wakeAll` follows when that ends. */
    readonly isShut: boolean;
    check(host: Host, now: Instant, neverFetched: boolean): Right;
    waitUntil(host: Host, untilMs: number): void;
    delay(host: Host, from: number, ms: number): void;
  };
  /** The operator's directives, and the delays that result from them and the config. */
  readonly directives: {
    blocks(host: Host): boolean;
    delayOf(host: Host): number;
    /** Null: as in the config. */
    readonly threads: number | null;
  };
  readonly scope: UrlScope;
  /** The shared limits: address permits, and tokens of `limits.pages`. */
  readonly budgets?: Pick<Budgets, 'permits' | 'pages'>;
  readonly asks?: AskOthers;
  /** Other networks that crawl the same URLs. */
  readonly networks?: SharedHosts | undefined;
  /** As in the config. */
  readonly threads: number;
  readonly delays: DelayRules;
  readonly chance: Chance;
  readonly heartbeatMs: number;
  readonly pagesPerHost: number;
  /** Duplicate score at which the rest of a host's queue is skipped; null: no limit. */
  readonly stalePages: number | null;
  readonly robots: boolean;
  /** Whether to save the links of each page for the view `links`. */
  readonly keepLinks: boolean;
  readonly parseRobots: (body: Uint8Array) => RobotsRules;
}
