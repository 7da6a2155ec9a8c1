// Without a rule of the protocol between networks the checkers find something, within some seeds.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LATE_COMMANDS, type LateRule } from '../networks/late-commands.ts';
import { NETWORK_RULES, type NetworkRule, withoutRule } from '../networks/network-mutations.ts';
import { type NetworkKind, runNetworks } from '../networks/network-swarm.ts';

const SEEDS_MAX = 150;

/** A seed that shows the rule, if it is not one of the first. A change of the core shifts it. */
const SEEDS: Partial<Readonly<Record<NetworkRule, number>>> = {
  'claims-restored': 91,
  'partial-lapsed': 9144,
  'reports-taken-over': 17,
  filled: 10,
};

/** The kind of fault in which the rule is missed. */
const kinds = {
  ...{ claims: 'none', asks: 'none', 'tie-rule': 'none', conceded: 'none', finished: 'none' },
  ...{
    released: 'none',
    'wanted-again': 'none',
    returned: 'none',
    'host-leases': 'none',
    'delay-told': 'none',
  },
  ...{ resent: 'links', overlaps: 'agents' },
  'reports-taken-over': 'agents',
  ...{ 'end-together': 'centres', 'waiting-taken-over': 'stops' },
  ...{
    lapsed: 'stops',
    'partial-lapsed': 'stops',
    'looked-first': 'stops',
    'asked-again': 'stops',
  },
  ...{ given: 'none', 'given-return': 'none' },
  ...{ filled: 'servers', 'claims-restored': 'servers' },
} satisfies Partial<Record<NetworkRule, NetworkKind>>;

describe('several networks', () => {
  it('the absence of every rule is looked for', () => {
    const tried = [...Object.keys(kinds), ...Object.keys(LATE_COMMANDS)];
    assert.deepEqual(tried.toSorted(), NETWORK_RULES.toSorted());
  });

  for (const [rule, kind] of Object.entries(kinds) as [NetworkRule, NetworkKind][]) {
    it(`the checkers notice the absence of ${rule}`, async () => {
      const restore = withoutRule(rule);
      try {
        const first = SEEDS[rule] ?? 1;
        for (let seed = first; seed < first + SEEDS_MAX; seed++) {
          const { violations } = await runNetworks(seed, kind);
          if (violations.length > 0) return;
        }
        assert.fail(`nothing noticed in ${SEEDS_MAX} seeds`);
      } finally {
        restore();
      }
    });
  }

  for (const rule of Object.keys(LATE_COMMANDS) as LateRule[]) {
    it(`a schedule shows the harm of the absence of ${rule}`, async () => {
      const restore = withoutRule(rule);
      try {
        assert.notEqual(await LATE_COMMANDS[rule](), null);
      } finally {
        restore();
      }
    });
  }
});
