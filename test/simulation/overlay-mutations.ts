// Removes single rules of the Kademlia overlay (docs/OVERLAY.md), as `mutations.ts` removes those of
// the protocol. The model of the neighbourhood leaves out others (`kademlia-model-agent.ts`).

import { Routing } from '../../agent/core/exchange/routing.ts';
import { HandOff } from '../../agent/core/hand-off/hand-off.ts';
import { UnplacedHosts } from '../../agent/core/hand-off/unplaced-hosts.ts';
import { Completion } from '../../agent/core/lifecycle/completion.ts';
import { AddressProofs } from '../../agent/core/membership/address-proofs.ts';
import { Membership } from '../../agent/core/membership/membership.ts';
import type { AgentState } from '../../agent/core/membership/overlay.ts';
import { Whereabouts } from '../../agent/core/membership/whereabouts.ts';
import { KademliaOverlay } from '../../agent/kademlia/kademlia-overlay.ts';
import { Places } from '../../agent/kademlia/neighbourhood/known-places.ts';
import { Neighbourhood } from '../../agent/kademlia/neighbourhood/neighbourhood.ts';
import { FirstContacts } from '../../agent/kademlia/routing/first-contacts.ts';
import { Hearsay } from '../../agent/kademlia/routing/hearsay.ts';
import { Locator } from '../../agent/kademlia/routing/locator.ts';
import { RoutingTable } from '../../agent/kademlia/routing/routing-table.ts';
import { LeaderTree } from '../../agent/kademlia/tree/leader-tree.ts';
import { calls, changeSent, replace, replaceIn, replaceRead, type Undo } from './undo.ts';

/** The survey with the states of all agents changed. */
function surveyed(change: (state: AgentState) => AgentState): Undo {
  return replace(LeaderTree.prototype, 'survey', (was) => {
    return function (this: LeaderTree, me, stateOf, now) {
      const states = (id: string) => {
        const state = stateOf(id);
        return state && change(state);
      };
      return was.call(this, change(me), states, now);
    };
  });
}

export const OVERLAY_REMOVALS = {
  // ---- rule 1
  /** A region is complete although none of its members has answered. */
  'regions-answered': () => [
    replace(Neighbourhood.prototype, 'settle', (was) => {
      return function (this: Neighbourhood) {
        for (const { to, region } of this.questions())
          this.answered(to, region, this.answerFor(region));
        return was.call(this);
      };
    }),
  ],
  /** A region is complete although an agent that a member named there has not answered. */
  'named-awaited': () => [
    replace(Neighbourhood.prototype, 'named', (was) => {
      return function (this: Neighbourhood, id, identifiers) {
        const isNews = was.call(this, id, identifiers);
        this.expire(id);
        return isNews;
      };
    }),
    replaceRead(Hearsay.prototype, 'size', () => 0),
  ],
  /** Drained members count as if they took hosts. */
  'drained-uncounted': () => [
    replace(Neighbourhood.prototype, 'put', (was) => {
      return function (this: Neighbourhood, neighbour) {
        was.call(this, { ...neighbour, drained: false });
      };
    }),
  ],
  // ---- rule 2
  /** A subtree beside a region counts as occupied by contacts that do not run any more. */
  'contacts-pinged': () => [replace(Neighbourhood.prototype, 'unwatched', () => function* () {})],
  /** An agent names contacts that do not run any more. */
  'named-pinged': () => [replace(RoutingTable.prototype, 'named', () => () => {})],
  // ---- rule 3
  /** An agent that only others can reach does not become a member. */
  'members-vouch': () => [
    replace(AddressProofs.prototype, 'judge', (was) => {
      return function (this: AddressProofs, claim, { vouched: _, ...evidence }, isNews, now) {
        return was.call(this, claim, evidence, isNews, now);
      };
    }),
  ],
  // ---- rule 4
  /** A member is parted from while hosts are being handed over. */
  'parted-after-lists': () => [replace(HandOff.prototype, 'isWith', () => () => false)],
  /** A member that is parted from gets a tombstone. */
  'parted-alive': () => [
    replace(Membership.prototype, 'part', (was) => {
      return function (this: Membership, member, now, isSilent) {
        was.call(this, member, now, isSilent);
        this.tombstones.note(member.card.id, member.card.inc, now.mono);
      };
    }),
  ],
  /** The hosts of a silent member that is not needed are not listed. */
  'silent-parted-listed': () => [
    replace(Membership.prototype, 'part', (was) => {
      return function (this: Membership, member, now) {
        was.call(this, member, now);
      };
    }),
  ],
  /** A member that is not needed is suspected when it stops to send heartbeats. */
  'spare-not-suspected': () =>
    replaceIn(calls(Membership.prototype, 'pump'), KademliaOverlay.prototype, 'needs', () => true),
  'lists-asked': () => [changeSent('LIST_ASK', () => null)],
  // ---- rule 5
  /** An agent decides for all hosts, by the agents that it knows. */
  'way-followed': () => [
    replace(Places.prototype, 'of', () => {
      return function (this: Places, host) {
        return { kind: 'known', order: this.orderOfKnown(host) };
      };
    }),
  ],
  /** Agents beside the way to a host never count. */
  'few-count': () => [replace(Places.prototype, 'fewBeside', () => () => null)],
  /** An agent that watches both subtrees counts although another there does not any more. */
  'few-contradicted': () => [
    replace(Places.prototype, 'fewBeside', (was) => {
      return function (this: Places, index, level) {
        const members = this.parts.members.map(({ neighbour, ...place }) => {
          return { ...place, neighbour: { ...neighbour, regions: [] } };
        });
        return was.call(new Places({ ...this.parts, members }), index, level);
      };
    }),
  ],
  /** The owner of rows that were not handed over is never looked for. */
  'withdrawn-listed': () => [replace(UnplacedHosts.prototype, 'add', () => () => {})],
  // ---- rule 6
  /** An agent joins although its regions are not complete. */
  'regions-before-join': () => [replace(KademliaOverlay.prototype, 'isReady', () => () => true)],
  /** Any agent without members joins alone. */
  'contacts-begin': () => [replaceRead(FirstContacts.prototype, 'mayBeginAlone', () => true)],
  /** No agent takes care that a contact meets it before the contact begins a cluster. */
  'contacts-asked': () => [
    replace(FirstContacts.prototype, 'due', (was) => {
      return function (this: FirstContacts, known, _, now) {
        return was.call(this, known, () => false, now);
      };
    }),
  ],
  // ---- rule 7
  /** The sender of URLs keeps to the agent that a look-up found, whatever that one answers. */
  'far-not-mine': () =>
    replaceIn(calls(Routing.prototype, 'onUrlsAck'), Whereabouts.prototype, 'lookAgain', () => {}),
  /** The same if it does not answer. */
  'far-silent': () =>
    replaceIn(calls(Routing.prototype, 'pump'), Whereabouts.prototype, 'lookAgain', () => {}),
  /** A leaver counts as the owner that was looked for, and answers that it is not. */
  'leavers-passed': () => [
    replace(Locator.prototype, 'answered', (was) => {
      return function (this: Locator, from, key, agents) {
        was.call(this, from, key, agents, false);
      };
    }),
  ],
  // ---- rule 8
  /** Leaders report subtrees that have work. */
  'subtrees-idle': () => [surveyed((state) => ({ ...state, idle: true }))],
  /** Two waves agree although the agents had work between them. */
  'waves-compared': () => [
    surveyed((state) => ({ ...state, idleSince: 0 })),
    replace(Completion.prototype, 'isIdleSince', () => () => true),
  ],
  // ---- rule 9
  /** Pages are counted although hosts are being handed over. */
  'census-quiet': () => [
    surveyed(({ pages, ...state }) => {
      return { ...state, ...(pages && { pages: { ...pages, quiet: true } }) };
    }),
  ],
  // ---- rule 11
  /** Only members compare their directives. */
  'directives-compared': () =>
    (['PING', 'FIND_NODE', 'FOUND_NODES'] as const).map((type) =>
      changeSent(type, ({ orders: _, ...message }) => message),
    ),
} satisfies Readonly<Record<string, () => Undo[]>>;
