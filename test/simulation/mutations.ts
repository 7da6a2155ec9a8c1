// Removes single rules of the protocol, to show that the checkers notice: a checker that never
// fails proves nothing (docs/PROTOCOL.md, last section). A rule is removed during one call, by
// replacing a method of the core, the store or the simulated cluster. The shipped code is not
// touched.

import { AddressPermits } from '../../agent/core/budgets/address-permits.ts';
import { Budgets } from '../../agent/core/budgets/budgets.ts';
import { PageBudget } from '../../agent/core/budgets/page-budget.ts';
import { PermitGrants } from '../../agent/core/budgets/permit-grants.ts';
import { RemoteRobots } from '../../agent/core/crawl/remote-robots.ts';
import { Inbox } from '../../agent/core/exchange/inbox.ts';
import { FetchRight } from '../../agent/core/hand-off/fetch-right.ts';
import { HandOff } from '../../agent/core/hand-off/hand-off.ts';
import { Completion } from '../../agent/core/lifecycle/completion.ts';
import { Membership } from '../../agent/core/membership/membership.ts';
import { Outbound } from '../../agent/core/membership/outbound.ts';
import { Tombstones } from '../../agent/core/membership/tombstones.ts';
import { View } from '../../agent/core/membership/view.ts';
import { DirectedSettings } from '../../agent/core/operator/directed-settings.ts';
import { Operator } from '../../agent/core/operator/operator.ts';
import { HostMoves } from '../../agent/core/ownership/host-moves.ts';
import { Effects } from '../../agent/core/protocol/effects.ts';
import type { Directive } from '../../agent/core/protocol/messages.ts';
import { Replication } from '../../agent/core/replication/replication.ts';
import { Settlement } from '../../agent/core/replication/settlement.ts';
import { Visits } from '../../agent/frontier/visits/visits.ts';
import { RowTable } from '../../agent/storage/rows/row-table.ts';
import { SqliteStore } from '../../agent/storage/sqlite-store.ts';
import { Lease } from '../../failure-detector/lease.ts';
import { StallWatch } from '../../failure-detector/stall.ts';
import { SUSPECT_MS } from './cluster.ts';
import { OVERLAY_REMOVALS } from './overlay-mutations.ts';
import {
  doneAtFetch,
  forwardAck,
  listHeldOnly,
  movingNumbers,
  pruneAtOnce,
} from './rows-undone.ts';
import { calls, changeSent, once, replace, replaceIn, replaceRead, type Undo } from './undo.ts';

/** Directives other than refreshes. */
const beside = (orders: readonly Directive[]) => orders.filter(({ kind }) => kind !== 'refresh');

const REMOVALS = {
  lease: () => [replace(FetchRight.prototype, 'leased', () => () => true)],
  'own-stall': () => [
    replace(StallWatch.prototype, 'turned', () => () => ({ stalled: false, gapMs: 0 })),
  ],
  'abort-at-lapse': () => [
    replace(Effects.prototype, 'push', (was) => {
      return function (this: Effects, effect) {
        if (effect.type !== 'abort') was.call(this, effect);
      };
    }),
  ],
  'suspicion-final': () => [
    replace(Tombstones.prototype, 'note', () => () => {}),
    replace(Tombstones.prototype, 'has', () => () => false),
  ],
  barrier: () => [
    replace(Membership.prototype, 'allMet', () => () => true),
    replace(HandOff.prototype, 'owedAny', () => () => false),
  ],
  'yields-resent': () => [once('YIELD')],
  'lists-resent': () => [once('LIST')],
  withdrawal: () => [
    replace(Outbound.prototype, 'toMember', (was) => {
      return function (this: Outbound, member, message, options) {
        if (message.type === 'YIELD' && message.items.some((i) => i.withdrawn)) return;
        was.call(this, member, message, options);
      };
    }),
  ],
  'equal-views': () => [replace(View.prototype, 'hash', () => () => 'same')],
  'activations-counted': () => [replace(Completion.prototype, 'activity', () => () => {})],
  'joined-strangers': () => [replace(FetchRight.prototype, 'releaseAll', () => () => {})],
  awaiting: () => [replace(HandOff.prototype, 'awaits', () => () => false)],
  'takeover-delay': () => [replace(FetchRight.prototype, 'memberRemoved', () => () => {})],
  /** Counts the members that the agent hears instead of those that hear it. */
  'quorum-by-echo': () => [replace(Lease.prototype, 'holds', () => () => true)],
  'gone-relayed': () => [
    changeSent('HEARTBEAT', (message, cluster, agent) => {
      const seen = new Set(cluster.snapshot(agent.id).members.map((m) => m.id));
      return { ...message, gone: message.gone.filter(({ id }) => !seen.has(id)) };
    }),
  ],
  'numbered-when-settled': doneAtFetch,
  'links-here-copied': () => [
    replace(Settlement.prototype, 'linksWentTo', (was) => {
      return function (this: Settlement, page, places) {
        was.call(this, page, { ...places, hosts: new Map() });
      };
    }),
  ],
  'not-mine-answered': forwardAck,
  'lists-name-copies': listHeldOnly,
  'pruned-on-return': pruneAtOnce,
  'copied-before-ack': () => [
    ...replaceIn(calls(Inbox.prototype, 'onUrls'), Replication.prototype, 'isSafe', () => true),
    ...replaceIn(calls(Inbox.prototype, 'pump'), Replication.prototype, 'isSafe', () => true),
  ],
  'numbers-stay': movingNumbers,
  keep: () => [
    changeSent('YIELD_ACK', (message) => {
      return { ...message, items: message.items.map((item) => ({ ...item, keep: false })) };
    }),
  ],
  /** An owner keeps believing what it remembers of its copies. */
  'marks-asked-again': () => [
    replace(Replication.prototype, 'invalidateAll', () => () => {}),
    replace(Replication.prototype, 'invalidate', () => () => {}),
    replace(Replication.prototype, 'listed', (was) => {
      return function (this: Replication, host) {
        was.call(this, host, '');
      };
    }),
    replace(Replication.prototype, 'deletedBy', () => () => {}),
  ],
  /** A disk that was set back reuses its numbers, and no agent reports the ones it used. */
  'numbers-jump-at-start': () => [
    replace(SqliteStore.prototype, 'raiseCounter', () => () => {}),
    replace(HostMoves.prototype, 'setBack', () => () => {}),
  ],
  /** If a direction has no path, no agent relays the message. */
  relay: () => [changeSent('RELAY', () => null)],
  /** Requests continue after their address permit ended (adr/0030). */
  'slots-end': () => [replace(AddressPermits.prototype, 'mayGoOn', () => () => true)],
  /** A new owner of an address is not told which agents use it. */
  'slots-listed': () => [changeSent('LIST', ({ slotsMs: _, ...list }) => list)],
  /** An agent continues to grant permits after others may have removed it. */
  'slots-leased': () => [replace(FetchRight.prototype, 'leaseLeftMs', () => () => Infinity)],
  /** A new owner grants an address at once, without waiting for its delay. */
  'slots-rest': () => [
    replace(Budgets.prototype, 'removed', () => () => {}),
    replace(PermitGrants.prototype, 'quiet', () => () => {}),
  ],
  /** Tokens in use are not counted as pages (adr/0030). */
  'tokens-counted': () => [replace(PageBudget.prototype, 'baseOf', () => (pages) => pages)],
  /** A new owner of the page limit counts from zero. */
  'pages-counted': () => [replace(PageBudget.prototype, 'baseOf', () => () => 0)],
  /** An agent that was absent when a round was ordered does not learn of it. */
  'round-told': () => [
    changeSent('WELCOME', (message) => ({ ...message, orders: beside(message.orders) })),
    changeSent('ORDERS', (message) => ({ ...message, orders: beside(message.orders) })),
  ],
  /** The crawl ends without waiting for agents known to lack the round. */
  'round-awaited': () => [replaceRead(Operator.prototype, 'isQuiet', () => true)],
  /** Each message about a round begins another one, whichever agent receives it. */
  'round-once': () => {
    let told = 0;
    return [
      replace(Operator.prototype, 'refresh', (was) => {
        return function (this: Operator, round, now) {
          was.call(this, round + told++, now);
        };
      }),
    ];
  },
  /** Only the owner knows that a host must get no requests for a time. */
  'waits-copied': () => [replace(RowTable.prototype, 'heldBack', () => () => {})],
  /** A visit continues with the row that its host had before it left and returned. */
  'visits-dropped': () => [replace(Visits.prototype, 'dropped', () => () => {})],
  /** If not all news fits into a heartbeat, the echo waits for its turn like other news. */
  'echo-each-time': () => [
    changeSent('HEARTBEAT', (message, _, __, to) => {
      return message.more
        ? { ...message, news: message.news.filter(({ id }) => id !== to) }
        : message;
    }),
  ],
  /** Rules in another host's robots.txt are ignored (adr/0034). */
  'robots-obeyed': () => [
    changeSent('ROBOTS_TOLD', (told) => {
      return told.answer === 'rules' ? { ...told, answer: 'absent' } : told;
    }),
  ],
  'robots-asked-again': () => [
    changeSent('ROBOTS_ASK', (ask) => (ask.waitedMs > SUSPECT_MS / 10 ? null : ask)),
  ],
  'robots-wait-ends': () => [replace(RemoteRobots.prototype, 'isOver', () => () => false)],
  /** A host that waits for another host's robots.txt does not report it. */
  'robots-circles': () => [
    changeSent('ROBOTS_TOLD', (told) => (told.answer === 'redirect' ? null : told)),
  ],
  /** Requests for remote rules always go to the agent that was asked first. */
  'robots-successors-asked': () => {
    const asked = new Map<string, string>();
    return [
      changeSent('ROBOTS_ASK', (ask, _, { id }, to) => {
        const key = `${id} ${ask.asker} ${ask.origin}`;
        const first = asked.get(key) ?? to;
        asked.set(key, first);
        return first === to ? ask : null;
      }),
    ];
  },
  /** An agent changes its capacity in the same incarnation. */
  'capacity-rejoins': () => [
    replaceRead(DirectedSettings.prototype, 'current', function () {
      return this.directed;
    }),
  ],
  /** Drained agents complete the crawl if no other is in view. */
  'drained-wait': () => [replaceRead(View.prototype, 'hasOwners', () => true)],
  /** A leaving agent does not wait for its successors. */
  'leave-waits': () => [
    replace(HandOff.prototype, 'hasGivenAll', () => () => true),
    changeSent('LIST', (message) => (message.leavers.length > 0 ? null : message)),
  ],
} satisfies Readonly<Record<string, () => Undo[]>>;

/** A rule of docs/PROTOCOL.md. */
export type ProtocolRule = keyof typeof REMOVALS;
export const RULES = Object.keys(REMOVALS) as readonly ProtocolRule[];

/** A rule of docs/OVERLAY.md. */
export type OverlayRule = keyof typeof OVERLAY_REMOVALS;
export const OVERLAY_RULES = Object.keys(OVERLAY_REMOVALS) as readonly OverlayRule[];

export type Rule = ProtocolRule | OverlayRule;

export function isRule(name: string | undefined): name is Rule {
  return [...RULES, ...OVERLAY_RULES].some((rule) => rule === name);
}

/** Runs the work while the rule is not in force. */
export function without<T>(rule: Rule, work: () => T): T {
  const undo = { ...REMOVALS, ...OVERLAY_REMOVALS }[rule]();
  try {
    return work();
  } finally {
    for (const back of undo.reverse()) back();
  }
}
