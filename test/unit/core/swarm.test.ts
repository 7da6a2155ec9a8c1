// Some seeds of the randomised swarm, and proof that its checkers can be offended.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Rule, without } from './rules-removed.ts';
import { KINDS, type Kind, runSwarm } from './swarm.ts';

const SEEDS = 10;

function replay(seed: number, kind: Kind): string {
  return `node test/unit/core/swarm.ts --runs 1 --seed ${seed} --kind ${kind}`;
}

describe('swarm: polite, complete and ended with 0', () => {
  for (const kind of KINDS) {
    it(`in ${SEEDS} clusters of the kind ${kind}`, () => {
      for (let seed = 1; seed <= SEEDS; seed++) {
        assert.deepEqual(runSwarm(seed, kind).violations, [], replay(seed, kind));
      }
    });
  }
});

describe('swarm: its checkers notice when a rule is taken away:', () => {
  const OFFENDED: readonly [Rule, Kind, number][] = [];
  for (const [rule, kind, seed] of OFFENDED) {
    it(`${rule}`, () => {
      without(rule, () => {
        assert.notDeepEqual(runSwarm(seed, kind).violations, [], replay(seed, kind));
      });
    });
  }
});
