// Builds the parts of the protocol and connects them. Each part is given the parts that it needs,
// which are built before it. Two needs point the other way and have an interface: what parts need
// from the core (`CoreHooks`), and what the parts that the visits need call of the visits
// (`VisitsCalls`).

import { FailureDetector } from '../../failure-detector/detector.ts';
import type { Instant } from '../../failure-detector/instant.ts';
import { Lease } from '../../failure-detector/lease.ts';
import { StallWatch } from '../../failure-detector/stall.ts';
import { Budgets } from './budgets/budgets.ts';
import { Arrivals } from './crawl/arrivals.ts';
import { HoldBack } from './crawl/hold-back.ts';
import type { Networks } from './crawl/networks-port.ts';
import { RemoteRobots } from './crawl/remote-robots.ts';
import { SharedCrawl } from './crawl/shared-crawl.ts';
import { Inbox } from './exchange/inbox.ts';
import { Routing } from './exchange/routing.ts';
import { Seeds } from './exchange/seeds.ts';
import { SeenFilter } from './exchange/seen-filter.ts';
import { UrlAnnouncements } from './exchange/url-announcements.ts';
import { FetchRight } from './hand-off/fetch-right.ts';
import { HandOff } from './hand-off/hand-off.ts';
import { Completion } from './lifecycle/completion.ts';
import { JoinWait } from './lifecycle/join-wait.ts';
import { QuorumWait } from './lifecycle/quorum-wait.ts';
import { Shutdown } from './lifecycle/shutdown.ts';
import { Gate } from './membership/gate.ts';
import { type Changes, Membership } from './membership/membership.ts';
import { Neighbours } from './membership/neighbours.ts';
import { OtherSettings } from './membership/other-settings.ts';
import { Outbound } from './membership/outbound.ts';
import { FullView, type Overlay } from './membership/overlay.ts';
import { RefusedClaims } from './membership/refused-claims.ts';
import { View } from './membership/view.ts';
import { Whereabouts } from './membership/whereabouts.ts';
import { ContactDirectives } from './operator/contact-directives.ts';
import { DirectedSettings } from './operator/directed-settings.ts';
import { Operator } from './operator/operator.ts';
import { OwnCapacity } from './operator/own-capacity.ts';
import { Requeues } from './operator/requeues.ts';
import { Aborts } from './ownership/aborts.ts';
import { HostMoves } from './ownership/host-moves.ts';
import { Backlog, type TurnSlice } from './protocol/backlog.ts';
import type { SkipReason, Store } from './protocol/core-store.ts';
import { type DirectiveStore, Directives } from './protocol/directives.ts';
import type { Effects } from './protocol/effects.ts';
import { EventLog } from './protocol/event-log.ts';
import type { Host, UrlItem } from './protocol/messages.ts';
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
  /** Which agents this one must know; absent: all. */
  readonly overlay?: Overlay;
  /** Other networks that crawl the same URLs; absent: there are none. */
  readonly networks?: Networks | undefined;
  /** Stores the operator's directives. */
  readonly directives: DirectiveStore;
  /** Builds the visits, which consult these parts before each request. */
  readonly visits: (
    right: FetchRight,
    directives: Directives,
    events: EventLog,
    budgets: Budgets,
    asks: RemoteRobots,
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
  /** The preference lists have changed although the members have not. */
  moved(now: Instant): void;
  /** Checks all hosts again, some in each turn. */
  lookAtHosts(): void;
}

export type Assembly = ReturnType<typeof assemble>;

type Members = ReturnType<typeof assembleMembers>;
type Hosts = ReturnType<typeof assembleHosts>;
type Limits = ReturnType<typeof assembleLimits>;

/** What is called of the visits by parts that the visits themselves need. */
type VisitsCalls = Pick<
  Visits,
  'schedule' | 'wake' | 'recheck' | 'recheckAll' | 'robotsOf' | 'robotsReported'
>;

export function assemble(given: CoreParts, hooks: CoreHooks) {
  const directives = new Directives({ ...given.settings, store: given.directives });
  const directed = new DirectedSettings(given.settings, directives);
  const parts = { ...given, settings: directed.settings };
  const calls: VisitsCalls = {
    schedule: (host) => visits.schedule(host),
    wake: (host) => visits.wake(host),
    recheck: (host, now) => visits.recheck(host, now),
    recheckAll: (now, named) => visits.recheckAll(now, named),
    robotsOf: (host, origin, now) => visits.robotsOf(host, origin, now),
    robotsReported: (host, origin, word, now) => visits.robotsReported(host, origin, word, now),
  };
  const members = assembleMembers(parts, directives, hooks);
  const placed = assembleHosts(parts, hooks, members, calls);
  const limits = assembleLimits(parts, hooks, members, placed, calls);
  const hosts = Object.assign(placed, limits);
  const { right, budgets, asks } = hosts;
  const visits = parts.visits(right, directives, members.events, budgets, asks);
  const crawl = assembleCrawl(parts, hooks, members, hosts, visits);
  const { settings, effects } = parts;
  const joinWait = new JoinWait({ ...members, settings, effects, shutdown: crawl.shutdown });
  const quorumWait = new QuorumWait({ ...members, settings, effects, right, ...crawl });
  const { view, events, completion } = members;
  const networks = new SharedCrawl({
    ...{ networks: parts.networks, view, events, store: parts.store, visits, directives },
    ...{ routing: hosts.routing, admit: parts.admit, hostOf: parts.hostOf },
    activity: () => completion.activity(),
    isIdle: () => hooks.isIdle(),
    isCrawling: () => crawl.shutdown.state === 'crawling',
    isOver: () => ['complete', 'ended'].includes(crawl.shutdown.state),
  });
  const ownCapacity = new OwnCapacity({ capacity: directed, ...members, ...hosts, ...crawl });
  return Object.assign(members, hosts, crawl, {
    ...{ directed, ownCapacity },
    ...{ joinWait, quorumWait, networks },
  });
}

/** Which agents are alive, and how they are reached. */
function assembleMembers(
  { settings, store, effects, ...parts }: CoreParts,
  directives: Directives,
  hooks: CoreHooks,
) {
  const view = new View(settings);
  const events = new EventLog(store);
  const refused = new RefusedClaims(events);
  const overlay = parts.overlay ?? new FullView();
  const outbound = new Outbound(settings, effects, view, overlay);
  const detector = new FailureDetector({ suspectAfterMs: settings.suspectAfterMs });
  const lease = new Lease({ leaseMs: settings.leaseMs });
  const stall = new StallWatch({ leaseMs: settings.leaseMs });
  const { changes } = hooks;
  const membership = new Membership({
    settings,
    view,
    outbound,
    overlay,
    detector,
    lease,
    store,
    directives,
    refused,
    changes,
  });
  const whereabouts = new Whereabouts({ settings, view, overlay, outbound });
  const contacts = new ContactDirectives({ settings, directives, outbound });
  const gate = new Gate({ settings, view, outbound, refused, overlay, contacts, membership });
  const otherSettings = new OtherSettings({ settings, view, overlay, outbound, membership });
  const backlog = new Backlog(parts.slice);
  const completion = new Completion(settings, view, overlay);
  return {
    view,
    events,
    refused,
    outbound,
    overlay,
    whereabouts,
    directives,
    detector,
    lease,
    stall,
    membership,
    contacts,
    gate,
    otherSettings,
    backlog,
    completion,
  };
}

/** The hosts that this agent may request, the copies of their rows, and the exchange of URLs. */
function assembleHosts(parts: CoreParts, hooks: CoreHooks, members: Members, calls: VisitsCalls) {
  const { settings, store, hostOf, admit } = parts;
  const { view, outbound, refused, directives, lease, backlog, overlay, whereabouts } = members;
  const handOff = new HandOff(settings, view, outbound, refused);
  const delayOf = (host: Host) => Math.max(directives.delayOf(host), store.delayOf(host));
  const right = new FetchRight(settings, view, lease, handOff, delayOf);
  const replication = new Replication({ settings, store, view, outbound, handOff, refused });
  const intake = new RowsIntake({ settings, store, view, outbound, handOff, hostOf, refused });
  const settlement = new Settlement(view, store, replication, settings);
  const holdBack = new HoldBack({ settings, store, settlement, directives });
  const seen = new SeenFilter(settings.bounds.seenUrls, settings.seenKey);
  const routing = new Routing({
    settings,
    store,
    view,
    whereabouts,
    outbound,
    seen,
    settlement,
    visits: calls,
    admit,
    hostOf,
    backlog,
  });
  const { membership } = members;
  const neighbours = new Neighbours({
    settings,
    directives,
    contacts: members.contacts,
    overlay,
    view,
    outbound,
    membership,
    handOff,
    moved: (now) => hooks.moved(now),
    located: (hosts) => routing.located(hosts),
  });
  const seeds = new Seeds(parts.seeds, routing, settings);
  const known = new UrlAnnouncements(settings, view, outbound, seen);
  const inbox = new Inbox({
    view,
    isPartial: overlay.isPartial,
    outbound,
    copies: replication,
    hostOf,
    routing,
    known,
    refused,
  });
  return {
    handOff,
    right,
    replication,
    intake,
    settlement,
    holdBack,
    seen,
    routing,
    neighbours,
    seeds,
    known,
    inbox,
  };
}

/** What limits requests across hosts and agents. */
function assembleLimits(
  { settings, store, effects, hostOf }: CoreParts,
  hooks: CoreHooks,
  { view, overlay, events, outbound, directives, completion, whereabouts }: Members,
  { routing, right, handOff }: Hosts,
  calls: VisitsCalls,
) {
  const asks = new RemoteRobots({
    settings,
    view,
    whereabouts,
    outbound,
    hostOf,
    directives,
    store,
    routing,
    activity: () => completion.activity(),
    visits: calls,
  });
  const budgets = new Budgets({
    settings,
    view,
    overlay,
    effects,
    outbound,
    leaseLeftMs: (name, now) => right.leaseLeftMs(name, now),
    listed: () => !handOff.owedAny(),
    quiet: () => hooks.areHostsSettled(),
    pages: () => store.owned().pages,
    round: () => directives.round,
    visits: calls,
  });
  const aborts = new Aborts({ settings, effects, events, right, budgets });
  return { asks, budgets, aborts };
}

/** Responses, moving and requeued hosts, and how the agent ends. */
function assembleCrawl(
  { settings, store, effects, hostOf, admit, inScope, networks }: CoreParts,
  hooks: CoreHooks,
  members: Members,
  hosts: Hosts & Limits,
  visits: Visits,
) {
  const { view, events, outbound, directives, backlog, completion } = members;
  const { handOff, right, replication, settlement, routing, budgets, aborts } = hosts;
  const requeues = new Requeues({
    settings,
    store,
    view,
    visits,
    lookAtHosts: () => hooks.lookAtHosts(),
    directives,
    admit,
    inScope,
  });
  const moves = new HostMoves({
    settings,
    store,
    events,
    view,
    handOff,
    replication,
    settlement,
    right,
    visits,
    budgets,
    backlog,
    requeues,
  });
  const shutdown = new Shutdown({
    settings,
    store,
    events,
    effects,
    view,
    overlay: members.overlay,
    detector: members.detector,
    outbound,
    handOff,
    moves,
    routing,
    ...{ completion, directives },
    ...{ visits, networks, aborts },
    isIdle: () => hooks.isIdle(),
  });
  const operator = new Operator({
    settings,
    directives,
    store,
    effects,
    events,
    ...{ view, whereabouts: members.whereabouts },
    outbound,
    routing,
    completion,
    visits,
    hostOf,
    copies: replication,
    requeues,
    aborts,
    refused: members.refused,
    shutdown,
  });
  const arrivals = new Arrivals({ settings, backlog, visits, routing, settlement, aborts });
  return { visits, arrivals, requeues, moves, shutdown, operator };
}
