// How the parts of the protocol hang together: who gets to know whom. Called once by the core, which
// is itself only the hooks that several of them need. Read top down, each part knows those above it.

import { FailureDetector } from '../../failure-detector/detector.ts';
import { Lease } from '../../failure-detector/lease.ts';
import { StallWatch } from '../../failure-detector/stall.ts';
import { Aborts } from './aborts.ts';
import { Budgets } from './budgets.ts';
import { Completion } from './completion.ts';
import type { Effects } from './effects.ts';
import { Ending } from './ending.ts';
import { EventLog } from './event-log.ts';
import { FetchRight } from './fetch-right.ts';
import { HandOff } from './hand-off.ts';
import { HostMoves } from './host-moves.ts';
import { Inbox } from './inbox.ts';
import { KnownUrls } from './known-urls.ts';
import { type Changes, Membership } from './membership.ts';
import type { Host, UrlItem } from './messages.ts';
import { Operator } from './operator.ts';
import { type OrderStore, Orders } from './orders.ts';
import { Outbound } from './outbound.ts';
import { Refresh } from './refresh.ts';
import { Replication } from './replication.ts';
import { RobotsAsks } from './robots-asks.ts';
import { Routing } from './routing.ts';
import { SeenFilter } from './seen-filter.ts';
import type { CoreSettings } from './settings.ts';
import { Settlement } from './settlement.ts';
import type { SkipReason, Store } from './store.ts';
import { View } from './view.ts';
import type { Visits } from './visits.ts';

export interface CoreParts {
  readonly settings: CoreSettings;
  readonly store: Store;
  readonly effects: Effects;
  /** The host of a canonical URL, or null where it is not one. */
  readonly hostOf: (url: string) => Host | null;
  /** Why a URL found here is not to be queued, or null. */
  readonly admit: (item: UrlItem) => SkipReason | null;
  readonly seeds: readonly UrlItem[];
  /** Where the operator's orders are kept. */
  readonly orders: OrderStore;
  /** Makes the visits, which ask what is given to them before a request, and obey the orders. */
  readonly visits: (
    right: FetchRight,
    orders: Orders,
    events: EventLog,
    budgets: Budgets,
    asks: RobotsAsks,
  ) => Visits;
}

/** What parts need of the core as a whole. */
export interface CoreHooks {
  readonly changes: Changes;
  isIdle(): boolean;
}

export type Assembly = ReturnType<typeof assemble>;

export function assemble(parts: CoreParts, hooks: CoreHooks) {
  const { settings, store, effects, hostOf, admit } = parts;
  const { id, delayMs, suspectAfterMs, leaseMs, digest } = settings;
  const view = new View(settings);
  const events = new EventLog(store);
  const outbound = new Outbound(settings, effects, view);
  const orders = new Orders({ id, delayMs, digest, store: parts.orders });
  const detector = new FailureDetector({ suspectAfterMs });
  const lease = new Lease({ leaseMs });
  const stall = new StallWatch({ leaseMs });
  const membership = new Membership({
    ...{ settings, view, outbound, detector, lease, store, orders },
    changes: hooks.changes,
  });
  const handOff = new HandOff(settings, view, outbound);
  const delayOf = (host: Host) => Math.max(orders.delayOf(host), store.delayOf(host));
  const right = new FetchRight(settings, view, lease, handOff, delayOf);
  const budgets: Budgets = new Budgets({
    ...{ settings, view, effects, outbound },
    leaseLeftMs: (name, now) => right.leaseLeftMs(name, now),
    joined: () => membership.joined,
    listed: () => !handOff.owedAny(),
    quiet: () => handOff.isQuiet() && moves.isQuiet && refresh.isQuiet && operator.isQuiet,
    pages: () => store.owned().pages,
    visits: {
      wake: (host) => visits.wake(host),
      reconsider: (host, now) => visits.reconsider(host, now),
      reconsiderAll: (now) => visits.reconsiderAll(now),
    },
  });
  const record = (host: Host, item: UrlItem) => routing.record(host, item);
  const asks: RobotsAsks = new RobotsAsks({
    ...{ settings, view, outbound, hostOf, membership, orders, store },
    ...{ record, activity: () => completion.activity(), visits: () => visits },
  });
  const visits: Visits = parts.visits(right, orders, events, budgets, asks);
  const aborts = new Aborts({ settings, effects, events, right, budgets });
  const addressees = (host: Host) => handOff.addressees(host);
  const replication = new Replication({ settings, store, view, outbound, addressees });
  const settlement = new Settlement(store, replication, settings);
  const seen = new SeenFilter(settings.bounds.seenUrls, settings.seenKey);
  const onQueued = (host: Host) => visits.queued(host);
  const routing = new Routing({
    ...{ settings, store, view, outbound, seen, settlement, admit, hostOf, onQueued },
  });
  const known = new KnownUrls(settings, view, outbound, seen);
  const inbox = new Inbox({ view, outbound, copies: replication, hostOf, record, known });
  const moves: HostMoves = new HostMoves({
    ...{ settings, store, events, view, handOff, replication, settlement, right, visits, budgets },
  });
  const refresh: Refresh = new Refresh({ settings, store, view, onQueued });
  const completion = new Completion(settings, view);
  const ending = new Ending({
    ...{ settings, store, events, effects, view, outbound, handOff, moves, routing },
    ...{ completion, visits, aborts },
    isIdle: () => hooks.isIdle(),
    incarnation: () => outbound.inc,
  });
  const operator: Operator = new Operator({
    ...{ orders, store, effects, events, view, outbound, routing, completion, visits, hostOf },
    ...{ copies: replication, refresh, aborts },
    course: () => ending.course,
  });
  return {
    ...{ view, outbound, detector, stall, membership, handOff, right, visits, replication },
    ...{ settlement, seen, routing, known, inbox, moves, completion, ending, events },
    ...{ orders, operator, refresh, budgets, asks, aborts },
  };
}
