// Single rules of the protocol taken away, to show that the checkers would notice: a checker that
// nothing can offend proves nothing (docs/PROTOCOL.md, last section). Each rule is removed for the time
// of one piece of work, by replacing a method of the core, of the store or of the simulated cluster;
// none of this touches what is shipped.

import { AddressPermits } from '../../agent/core/budgets/address-permits.ts';
import { Budgets } from '../../agent/core/budgets/budgets.ts';
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
import {
  doneAtFetch,
  forwardAck,
  listHeldOnly,
  movingNumbers,
  pruneAtOnce,
} from './rows-undone.ts';
import { changeSent, once, replace, replaceRead, type Undo } from './undo.ts';

/** The orders that are not of a round. */
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
  /** Whom it hears, not who hears it. */
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
  'copied-before-ack': () => {
    let within = 0;
    const inside = (name: 'onUrls' | 'pump') =>
      replace(Inbox.prototype, name, (was: (...args: never[]) => void) => {
        return function (this: Inbox, ...args: never[]) {
          within++;
          was.apply(this, args);
          within--;
        };
      });
    return [
      inside('onUrls'),
      inside('pump'),
      replace(Replication.prototype, 'isSafe', (was) => {
        return function (this: Replication, host, n) {
          return within > 0 || was.call(this, host, n);
        };
      }),
    ];
  },
  'numbers-stay': movingNumbers,
  keep: () => [
    changeSent('YIELD_ACK', (message) => {
      return { ...message, items: message.items.map((item) => ({ ...item, keep: false })) };
    }),
  ],
  /** What an owner remembers of its copies it goes on believing (ADR 0014). */
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
  /** A disk that was set back uses its numbers again, and nobody tells it what it had. */
  'numbers-jump-at-start': () => [
    replace(SqliteStore.prototype, 'raiseCounter', () => () => {}),
    replace(HostMoves.prototype, 'setBack', () => () => {}),
  ],
  /** With no path one way, nobody carries a message round. */
  relay: () => [changeSent('RELAY', () => null)],
  /** A slot that is over stops nobody (adr/0030). */
  'slots-end': () => [replace(AddressPermits.prototype, 'mayGoOn', () => () => true)],
  /** Who comes to own an address is not told who uses it. */
  'slots-listed': () => [changeSent('LIST', ({ slotsMs: _, ...list }) => list)],
  /** Who grants slots goes on though others may have given it up. */
  'slots-leased': () => [replace(FetchRight.prototype, 'leaseLeftMs', () => () => Infinity)],
  /** An address is taken over as if it had rested. */
  'slots-rest': () => [
    replace(Budgets.prototype, 'removed', () => () => {}),
    replace(PermitGrants.prototype, 'quiet', () => () => {}),
  ],
  /** Pages are counted without those under way (adr/0030). */
  'tokens-counted': () => [changeSent('COUNTED', (message) => ({ ...message, held: 0 }))],
  /** Whoever owns the page limit goes on from nothing. */
  'pages-counted': () => [changeSent('COUNTED', (message) => ({ ...message, held: 0, pages: 0 }))],
  /** Who was not there when a round was ordered is not told of it (adr/0029). */
  'round-told': () => [
    changeSent('WELCOME', (message) => ({ ...message, orders: beside(message.orders) })),
    changeSent('ORDERS', (message) => ({ ...message, orders: beside(message.orders) })),
  ],
  /** The end does not wait for those who are known to lack the round. */
  'round-awaited': () => [replaceRead(Operator.prototype, 'isQuiet', () => true)],
  /** Each word of a round, to whichever agent, begins another. */
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
  /** That a host is to be left alone only its owner knows. */
  'waits-copied': () => [replace(RowTable.prototype, 'heldBack', () => () => {})],
  /** A visit goes on with the row that its host had before it went and came back. */
  'visits-dropped': () => [replace(Visits.prototype, 'dropped', () => () => {})],
  /** Where not all news fits a heartbeat, the echo waits for its turn like the rest. */
  'echo-each-time': () => [
    changeSent('HEARTBEAT', (message, _, __, to) => {
      return message.more
        ? { ...message, news: message.news.filter(({ id }) => id !== to) }
        : message;
    }),
  ],
  /** What another host's robots.txt says counts for nothing (adr/0034). */
  'robots-obeyed': () => [
    changeSent('ROBOTS_TOLD', (told) => {
      return told.answer === 'rules' ? { ...told, answer: 'absent' } : told;
    }),
  ],
  'robots-asked-again': () => [
    changeSent('ROBOTS_ASK', (ask) => (ask.waitedMs > SUSPECT_MS / 10 ? null : ask)),
  ],
  'robots-wait-ends': () => [replace(RemoteRobots.prototype, 'isOver', () => () => false)],
  /** A host that waits for another does not say so. */
  'robots-circles': () => [
    changeSent('ROBOTS_TOLD', (told) => (told.answer === 'redirect' ? null : told)),
  ],
  /** Whoever was asked first is asked for ever. */
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
  /** A leaver goes without waiting for its successors. */
  'leave-waits': () => [
    replace(HandOff.prototype, 'hasGivenAll', () => () => true),
    changeSent('LIST', (message) => (message.leavers.length > 0 ? null : message)),
  ],
} satisfies Readonly<Record<string, () => Undo[]>>;

export type Rule = keyof typeof REMOVALS;
export const RULES = Object.keys(REMOVALS) as readonly Rule[];

export function isRule(name: string | undefined): name is Rule {
  return RULES.some((rule) => rule === name);
}

/** Does the work while the rule is not in force. */
export function without<T>(rule: Rule, work: () => T): T {
  const undo = REMOVALS[rule]();
  try {
    return work();
  } finally {
    for (const back of undo.reverse()) back();
  }
}
