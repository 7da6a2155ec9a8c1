// Removes every rule of the protocol's last table, and some others, one at a time. The checkers
// must notice it in a schedule made for the rule, or in the swarm. A schedule must also find no
// violation while the rule is in force.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RULES, type Rule, without } from '../mutations.ts';
import type { Kind } from '../plan.ts';
import { SCHEDULES } from '../schedules.ts';
import { runSwarm } from '../swarm.ts';

/**
 * A seed that shows each rule. A change of the core shifts it, so the test also tries later seeds.
 */
const SEEDS: Partial<Readonly<Record<Rule, readonly [Kind, number]>>> = {
  'suspicion-final': ['cuts', 11],
  barrier: ['cuts', 9],
  'yields-resent': ['faults', 1],
  'lists-resent': ['cuts', 1],
  withdrawal: ['faults', 28],
  awaiting: ['moves', 4],
  'numbered-when-settled': ['cuts', 5],
  'lists-name-copies': ['disks', 12],
  'copied-before-ack': ['faults', 1],
  'numbers-jump-at-start': ['disks', 6],
  relay: ['cuts', 1],
  'leave-waits': ['moves', 31],
  'robots-obeyed': ['calm', 1],
  'slots-listed': ['budgets', 552],
  'slots-rest': ['budgets', 714],
  'tokens-counted': ['budgets', 515],
  'pages-counted': ['budgets', 522],
};
const TRIED_MAX = 60;

describe('the checkers notice when a rule is taken away:', () => {
  for (const rule of RULES) {
    const schedule = SCHEDULES[rule];
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
        const offends = (at: number) => runSwarm(at, kind).violations.length > 0;
        const tried = Array.from({ length: TRIED_MAX }, (_, i) => first + i);
        const found = without(rule, () => tried.find(offends));
        assert.ok(found !== undefined, `no violation in ${TRIED_MAX} runs`);
        assert.deepEqual(runSwarm(found, kind).violations, [], `seed ${found} with the rule`);
      });
    }
  }
});
