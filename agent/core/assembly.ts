// How the parts of the protocol hang together: who gets to know whom. Called once by the core, which
// is itself only the hooks that several of them need. Read top down, each part knows those above it.

import { FailureDetector } from '../../failure-detector/detector.ts';
import { Lease } from '../../failure-detector/lease.ts';
import { StallWatch } from '../../failure-detector/stall.ts';
import { Budgets, type BudgetsParts } from './budgets/budgets.ts';
import { Arrivals } from './crawl/arrivals.ts';
import { HoldBack } from './crawl/hold-back.ts';
import { RobotsAsks } from './crawl/robots-asks.ts';
import { Inbox } from './exchange/inbox.ts';
import { KnownUrls } from './exchange/known-urls.ts';
import { Routing } from './exchange/routing.ts';
import { Seeds } from './exchange/seeds.ts';
import { SeenFilter } from './exchange/seen-filter.ts';
import { FetchRight } from './hand-off/fetch-right.ts';
import { HandOff } from './hand-off/hand-off.ts';
import { Completion } from './lifecycle/completion.ts';
import { Ending } from './lifecycle/ending.ts';
import { Gate } from './membership/gate.ts';
import { type Changes, Membership } from './membership/membership.ts';
import { Outbound } from './membership/outbound.ts';
import { RefusedClaims } from './membership/refused-claims.ts';
import { View } from './membership/view.ts';
import { Operator } from './operator/operator.ts';
import { Requeues } from './operator/requeues.ts';
import { Aborts } from './ownership/aborts.ts';
import { HostMoves } from './ownership/host-moves.ts';
import { Backlog } from './protocol/backlog.ts';
import type { SkipReason, Store } from './protocol/core-store.ts';
import type { Effects } from './protocol/effects.ts';
import { EventLog } from './protocol/event-log.ts';
import type { Host, UrlItem } from './protocol/messages.ts';
import { type OrderStore, Orders } from './protocol/orders.ts';
import type { CoreSettings } from './protocol/settings.ts';
import type { TurnSlice } from './protocol/slice-port.ts';
import type { Visits } from './protocol/visits-port.ts';
import { Replication } from './replication/replication.ts';
import { RowsIntake } from './replication/rows-intake.ts';
import { Settlement } from './replication/settlement.ts';

export interface CoreParts {
  readonly settings: CoreSettings;
  readonly store: Store;
  readonly effects: Effects;
  /** How long a turn may go on with what can wait. */
  readonly slice: TurnSlice;
  /** The host of a canonical URL, or null where it is not one. */
  readonly hostOf: (url: string) => Host | null;
  /** Why a URL found here is not to be queued, or null. */
  readonly admit: (item: UrlItem) => SkipReason | null;
  /** Whether the URL may be requested under the scope of the config. */
  readonly inScope: (host: Host, item: UrlItem) => boolean;
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
  const { settings, store, effects, hostOf, admit, inScope } = parts;
  const view = new View(settings);
  const [events, refused] = eventsOf(store);
  const outbound = new Outbound(settings, effects, view);
  const orders = new Orders({ ...settings, store: parts.orders });
  const [detector, lease, stall] = watchesOf(settings);
  const membership = new Membership({
    ...{ settings, view, outbound, detector, lease, store, orders, refused },
    changes: hooks.changes,
  });
  const gate = new Gate({ settings, view, outbound, refused, membership });
  const handOff = new HandOff(settings, view, outbound, refused);
  const delayOf = (host: Host) => Math.max(orders.delayOf(host), store.delayOf(host));
  const right = new FetchRight(settings, view, lease, handOff, delayOf);
  const budgets: Budgets = new Budgets({
    ...{ settings, view, effects, outbound },
    leaseLeftMs: (name, now) => right.leaseLeftMs(name, now),
    listed: () => !handOff.owedAny(),
    quiet: () => handOff.isQuiet && moves.isQuiet && requeues.isQuiet && operator.isQuiet,
    pages: () => store.owned().pages,
    visits: budgeted(() => visits),
  });
  const record = (host: Host, item: UrlItem) => routing.record(host, item);
  const asks: RobotsAsks = new RobotsAsks({
    ...{ settings, view, outbound, hostOf, orders, store },
    ...{ record, activity: () => completion.activity(), visits: () => visits },
  });
  const visits: Visits = parts.visits(right, orders, events, budgets, asks);
  const aborts = new Aborts({ settings, effects, events, right, budgets });
  const replication = new Replication({ settings, store, view, outbound, handOff, refused });
  const intake = new RowsIntake({ settings, store, view, outbound, handOff, hostOf, refused });
  const settlement = new Settlement(view, store, replication, settings);
  const seen = new SeenFilter(settings.bounds.seenUrls, settings.seenKey);
  const onQueued = (host: Host) => visits.queued(host);
  const backlog = new Backlog(parts.slice);
  const routing = new Routing({
    ...{ settings, store, view, outbound, seen, settlement, admit, hostOf, onQueued, backlog },
  });
  const holdBack = new HoldBack({ settings, store, settlement, orders });
  const known = new KnownUrls(settings, view, outbound, seen);
  const arrivals = new Arrivals({ settings, backlog, visits, routing, settlement, aborts });
  const seeds = new Seeds(parts.seeds, routing, settings);
  const inbox = new Inbox({ view, outbound, copies: replication, hostOf, record, known, refused });
  const moves: HostMoves = new HostMoves({
    ...{ settings, store, events, view, handOff, replication, settlement, right, visits, budgets },
    ...{ backlog, received: (host: Host) => requeues.received(host) },
  });
  const judged = { orders, admit, inScope };
  const requeues = new Requeues({ settings, store, view, moves, onQueued, ...judged });
  const completion = new Completion(settings, view);
  const ending = new Ending({
    ...{ settings, store, events, effects, view, detector, outbound, handOff, moves },
    ...{ routing, completion, visits, aborts },
    isIdle: () => hooks.isIdle(),
    incarnation: () => outbound.inc,
  });
  const operator: Operator = new Operator({
    ...{ orders, store, effects, events, view, outbound, routing, completion, visits, hostOf },
    ...{ copies: replication, requeues, aborts, refused },
    course: () => ending.course,
  });
  return {
    ...{ view, outbound, detector, stall, membership, handOff, right, visits, replication },
    ...{ settlement, seen, routing, known, inbox, moves, completion, ending, events },
    ...{ orders, operator, requeues, budgets, asks, aborts, backlog, arrivals, seeds, holdBack },
    ...{ refused, intake, gate },
  };
}

function watchesOf({
  suspectAfterMs,
  leaseMs,
}: CoreSettings): [FailureDetector, Lease, StallWatch] {
  return [
    new FailureDetector({ suspectAfterMs }),
    new Lease({ leaseMs }),
    new StallWatch({ leaseMs }),
  ];
}

function eventsOf(store: Store): [EventLog, RefusedClaims] {
  const events = new EventLog(store);
  return [events, new RefusedClaims(events)];
}

/** The visits as the budgets know them, which are made before them. */
function budgeted(visits: () => Visits): BudgetsParts['visits'] {
  return {
    wake: (host) => visits().wake(host),
    reconsider: (host, now) => visits().reconsider(host, now),
    reconsiderAll: (now) => visits().reconsiderAll(now),
  };
}
