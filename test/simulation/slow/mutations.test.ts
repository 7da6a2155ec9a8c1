// Removes every rule of the protocol's last table, some others, and rules of the Kademlia overlay,
// one at a time. The checkers must notice it in a schedule made for the rule, or in the swarm. A
// schedule must also find no violation while the rule is in force.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OVERLAY_RULES, RULES, type Rule, without } from '../mutations.ts';
import { OVERLAY_SCHEDULES } from '../overlay-schedules.ts';
import type { Kind, OverlayName } from '../plan.ts';
import { SCHEDULES } from '../schedules.ts';
import { runSwarm } from '../swarm.ts';

/**
 * A seed that shows each rule, if possible in a short run. A change of the core shifts it, so the
 * test also tries later seeds.
 */
const SEEDS: Partial<Readonly<Record<Rule, readonly [Kind, number]>>> = {
  'suspicion-final': ['cuts', 11],
  barrier: ['cuts', 9],
  'yields-resent': ['faults', 1],
  'lists-resent': ['cuts', 1],
  withdrawal: ['faults', 31],
  awaiting: ['moves', 4],
  'numbered-when-settled': ['cuts', 5],
  'lists-name-copies': ['disks', 12],
  'copied-before-ack': ['faults', 1],
  'numbers-jump-at-start': ['disks', 6],
  relay: ['cuts', 1],
  'leave-waits': ['moves', 33],
  'capacity-rejoins': ['shares', 2],
  'robots-obeyed': ['calm', 1],
  'slots-listed': ['budgets', 552],
  'slots-rest': ['budgets', 732],
  'tokens-counted': ['budgets', 525],
  'pages-counted': ['budgets', 522],
  'members-vouch': ['cuts', 23],
  'parted-after-lists': ['moves', 18],
  'parted-alive': ['moves', 8],
  'silent-parted-listed': ['storms', 3_105_404],
  'spare-not-suspected': ['moves', 8],
  'lists-asked': ['moves', 9],
  'drained-uncounted': ['shares', 2],
  'way-followed': ['moves', 2],
  'few-count': ['disks', 6],
  'few-contradicted': ['moves', 6],
  'far-not-mine': ['moves', 4],
  'far-silent': ['faults', 26],
  'subtrees-idle': ['moves', 25],
};
const ALL_SCHEDULES: Partial<Readonly<Record<Rule, () => string[]>>> = {
  ...SCHEDULES,
  ...OVERLAY_SCHEDULES,
};
const TRIED_MAX = 60;

function noticed(rules: readonly Rule[], overlay: OverlayName): void {
  for (const rule of rules) {
    const schedule = ALL_SCHEDULES[rule];
    const seed = SEEDS[rule];
    if (schedule) {
      it(`${rule}, in a schedule of its own`, () => {
        assert.deepEqual(schedule(), [], 'violations with the rule');
        assert.notDeepEqual(without(rule, schedule), [], 'no violation without it');
      });
    } else {
      it(`${rule}, in the swarm`, () => {
        assert.ok(seed, 'give it a schedule, or a seed of the swarm');
        const [kind, first] = seed;
        const offends = (at: number) => runSwarm(at, kind, overlay).violations.length > 0;
        const tried = Array.from({ length: TRIED_MAX }, (_, i) => first + i);
        const found = without(rule, () => tried.find(offends));
        assert.ok(found !== undefined, `no violation in ${TRIED_MAX} runs`);
        assert.deepEqual(
          runSwarm(found, kind, overlay).violations,
          [],
          `seed ${found} with the rule`,
        );
      });
    }
  }
}

describe('the checkers notice when a rule is taken away:', () => {
  noticed(RULES, 'ring');
});

describe('the checkers notice when a rule of the overlay kademlia is taken away:', () => {
  noticed(OVERLAY_RULES, 'kademlia');
});
