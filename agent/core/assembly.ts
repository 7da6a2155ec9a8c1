// Builds the parts of the protocol and connects them. A part takes from the scope what its own
// interface names, so a call here shows only what is not in the scope or has another name there.

import { FailureDetector } from '../../failure-detector/detector.ts';
import { Lease } from '../../failure-detector/lease.ts';
import { StallWatch } from '../../failure-detector/stall.ts';
import { Budgets } from './budgets/budgets.ts';
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
import { Backlog, type TurnSlice } from './protocol/backlog.ts';
import type { SkipReason, Store } from './protocol/core-store.ts';
import type { Effects } from './protocol/effects.ts';
import { EventLog } from './protocol/event-log.ts';
import type { Host, UrlItem } from './protocol/messages.ts';
import { type OrderStore, Orders } from './protocol/orders.ts';
import type { CoreSettings } from './protocol/settings.ts';
import type { Visits } from './protocol/visits-port.ts';
import { Replication } from './replication/replication.ts';
import { RowsIntake } from './replication/rows-intake.ts';
import { Settlement } from './replication/settlement.ts';

export interface CoreParts {
  readonly settings: CoreSettings;
  readonly store: Store;
  readonly effects: Effects;
  /** Limits the time that a turn spends on work that can wait. */
  readonly slice: TurnSlice;
  /** The host of a canonical URL; null: the URL is not canonical. */
  readonly hostOf: (url: string) => Host | null;
  /** Why a URL found here is not queued; null: it is queued. */
  readonly admit: (item: UrlItem) => SkipReason | null;
  /** Whether the scope of the config allows requests for the URL. */
  readonly inScope: (host: Host, item: UrlItem) => boolean;
  readonly seeds: readonly UrlItem[];
  /** Stores the operator's directives. */
  readonly orders: OrderStore;
  /** Builds the visits, which consult these parts before each request. */
  readonly visits: (
    right: FetchRight,
    orders: Orders,
    events: EventLog,
    budgets: Budgets,
    asks: RobotsAsks,
  ) => Visits;
}

/** What the parts need from the core, which is built after them. */
interface CoreHooks {
  readonly changes: Changes;
  /** This agent has joined and has nothing to do, to send or to wait for. */
  isIdle(): boolean;
  /**
   * No host is being handed over, no URL waits to be requeued, and all members have the same
   * directives.
   */
  areHostsSettled(): boolean;
  /** Checks all hosts again, some in each turn. */
  lookAtHosts(): void;
}

export type Assembly = ReturnType<typeof assemble>;

type Members = ReturnType<typeof assembleMembers>;
type Hosts = ReturnType<typeof assembleHosts>;
/** All that is built so far; a part replaces the member of `CoreParts` that has its name. */
type Scope<Built> = Omit<CoreParts, keyof Built> & Built;
/** What is called of the visits by parts that the visits themselves need. */
type Calls = Pick<
  Visits,
  'schedule' | 'wake' | 'recheck' | 'recheckAll' | 'robotsOf' | 'robotsTold'
>;

export function assemble(parts: CoreParts, hooks: CoreHooks) {
  const calls: Calls = {
    schedule: (host) => visits.schedule(host),
    wake: (host) => visits.wake(host),
    recheck: (host, now) => visits.recheck(host, now),
    recheckAll: (now, named) => visits.recheckAll(now, named),
    robotsOf: (host, origin, now) => visits.robotsOf(host, origin, now),
    robotsTold: (host, origin, word, now) => visits.robotsTold(host, origin, word, now),
  };
  const members = assembleMembers(parts, hooks);
  const hosts = assembleHosts({ ...parts, ...members, visits: calls }, parts.seeds, hooks);
  const { orders, events } = members;
  const visits = parts.visits(hosts.right, orders, events, hosts.budgets, hosts.asks);
  const crawl = assembleCrawl({ ...parts, ...members, ...hosts, visits }, hooks);
  return { ...members, ...hosts, ...crawl, visits };
}

/** Which agents are alive, and how they are reached. */
function assembleMembers(parts: CoreParts, { changes }: CoreHooks) {
  const { settings, store, effects } = parts;
  const view = new View(settings);
  const events = new EventLog(store);
  const refused = new RefusedClaims(events);
  const outbound = new Outbound(settings, effects, view);
  const orders = new Orders({ ...settings, store: parts.orders });
  const detector = new FailureDetector(settings);
  const lease = new Lease(settings);
  const stall = new StallWatch(settings);
  const backlog = new Backlog(parts.slice);
  const completion = new Completion(settings, view);
  const built = { view, events, refused, outbound, orders, detector, lease };
  const membership = new Membership({ ...built, settings, store, changes });
  const gate = new Gate({ ...built, settings, membership });
  return { ...built, stall, backlog, completion, membership, gate };
}

/** The hosts that this agent may request, the copies of their rows, and the exchange of URLs. */
function assembleHosts(
  scope: Scope<Members & { readonly visits: Calls }>,
  seedUrls: readonly UrlItem[],
  hooks: CoreHooks,
) {
  const { settings, store, view, outbound, orders, refused, lease, completion } = scope;
  const handOff = new HandOff(settings, view, outbound, refused);
  const delayOf = (host: Host) => Math.max(orders.delayOf(host), store.delayOf(host));
  const right = new FetchRight(settings, view, lease, handOff, delayOf);
  const replication = new Replication({ ...scope, handOff });
  const intake = new RowsIntake({ ...scope, handOff });
  const settlement = new Settlement(view, store, replication, settings);
  const holdBack = new HoldBack({ ...scope, settlement });
  const seen = new SeenFilter(settings.bounds.seenUrls, settings.seenKey);
  const routing = new Routing({ ...scope, seen, settlement });
  const seeds = new Seeds(seedUrls, routing, settings);
  const known = new KnownUrls(settings, view, outbound, seen);
  const inbox = new Inbox({ ...scope, copies: replication, routing, known });
  const asks = new RobotsAsks({ ...scope, routing, activity: () => completion.activity() });
  const budgets = new Budgets({
    ...scope,
    leaseLeftMs: (name, now) => right.leaseLeftMs(name, now),
    listed: () => !handOff.owedAny(),
    quiet: () => hooks.areHostsSettled(),
    pages: () => store.owned().pages,
  });
  const copies = { replication, intake, settlement, holdBack };
  return { handOff, right, ...copies, seen, routing, seeds, known, inbox, asks, budgets };
}

/** Aborted requests, responses, moving and requeued hosts, and how the agent ends. */
function assembleCrawl(
  scope: Scope<Members & Hosts & { readonly visits: Visits }>,
  hooks: CoreHooks,
) {
  const aborts = new Aborts(scope);
  const arrivals = new Arrivals({ ...scope, aborts });
  const requeues = new Requeues({ ...scope, lookAtHosts: () => hooks.lookAtHosts() });
  const moves = new HostMoves({ ...scope, requeues });
  const ending = new Ending({ ...scope, aborts, moves, isIdle: () => hooks.isIdle() });
  const copies = scope.replication;
  const operator = new Operator({ ...scope, copies, requeues, aborts, ending });
  return { aborts, arrivals, requeues, moves, ending, operator };
}
