// Single rules of the protocol taken away, to show that the checkers of the swarm would notice:
// a checker that nothing can offend proves nothing (PROTOCOL, last table). Each rule is removed by
// replacing a method for the time of one piece of work.

import { Completion } from '../../agent/core/completion.ts';
import { Effects } from '../../agent/core/effects.ts';
import { FetchRight } from '../../agent/core/fetch-right.ts';
import { Gone } from '../../agent/core/gone.ts';
import { HandOff } from '../../agent/core/hand-off.ts';
import { Membership } from '../../agent/core/membership.ts';
import { Outbound } from '../../agent/core/outbound.ts';
import { View } from '../../agent/core/view.ts';
import { StallWatch } from '../../failure-detector/stall.ts';

export const RULES = [
  'lease',
  'own-stall',
  'abort-at-lapse',
  'suspicion-final',
  'barrier',
  'yields-resent',
  'lists-resent',
  'withdrawal',
  'equal-views',
  'activations-counted',
  'joined-strangers',
  'awaiting',
  'takeover-delay',
] as const;
export type Rule = (typeof RULES)[number];

export function isRule(name: string | undefined): name is Rule {
  return RULES.some((rule) => rule === name);
}

/** Does the work while the rule is not in force. */
export function without(rule: Rule, work: () => void): void {
  const undo = REMOVALS[rule]();
  try {
    work();
  } finally {
    for (const back of undo.reverse()) back();
  }
}

type Undo = () => void;

function replace<T extends object, K extends keyof T>(
  target: T,
  name: K,
  make: (was: T[K]) => T[K],
): Undo {
  const was = target[name];
  target[name] = make(was);
  return () => {
    target[name] = was;
  };
}

/** Messages sent to members: the first of each key goes, the others do not. */
function once(type: 'YIELD' | 'LIST'): Undo {
  const seen = new Set<string>();
  return replace(Outbound.prototype, 'toMember', (was) => {
    return function (this: Outbound, member, message, options) {
      if (message.type === type) {
        const { list } = message;
        const what = message.type === 'YIELD' ? message.items.map((i) => i.host) : message.part;
        const key = `${this.inc} ${list} ${member.card.id}.${member.card.inc} ${what}`;
        if (seen.has(key)) return;
        seen.add(key);
      }
      was.call(this, member, message, options);
    };
  });
}

const REMOVALS: Readonly<Record<Rule, () => Undo[]>> = {
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
    replace(Gone.prototype, 'note', () => () => {}),
    replace(Gone.prototype, 'has', () => () => false),
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
  'takeover-delay': () => [replace(FetchRight.prototype, 'upheaval', () => () => {})],
};
