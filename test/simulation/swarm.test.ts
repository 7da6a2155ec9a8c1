// Some seeds of the randomised swarm, and proof that its checkers can be offended.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Cluster, SUSPECT_MS } from './cluster.ts';
import { type Rule, without } from './mutations.ts';
import { KINDS, type Kind } from './plan.ts';
import { replay } from './run-swarm.ts';
import { runSwarm } from './swarm.ts';
import { chainWeb } from './webs.ts';

const SEEDS = 10;

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
  const TRIED_MAX = 120;
  const OFFENDED: readonly [Rule, Kind][] = [
    ['suspicion-final', 'moves'],
    ['lists-resent', 'moves'],
    ['yields-resent', 'moves'],
    ['withdrawal', 'moves'],
    ['awaiting', 'moves'],
    ['barrier', 'moves'],
  ];
  for (const [rule, kind] of OFFENDED) {
    it(`${rule}`, () => {
      without(rule, () => {
        let seed = 1;
        while (seed <= TRIED_MAX && runSwarm(seed, kind).violations.length === 0) seed++;
        assert.ok(seed <= TRIED_MAX, `no violation in ${TRIED_MAX} runs without ${rule}`);
      });
    });
  }
});

describe('scenarios: the web sees it when a rule is taken away:', () => {
  const ids = ['a1', 'a2', 'a3'];
  const web = chainWeb(40, 60);
  const seeds = ['http://h0.test/p0'];

  /** Every page links to the next one of each host: whoever takes a host over has work on it. */
  const dense = new Map<string, string[]>();
  for (let p = 0; p < 200; p++) {
    for (let h = 0; h < 8; h++) {
      const next = Array.from({ length: 8 }, (_, x) => `http://h${x}.test/p${p + 1}`);
      dense.set(`http://h${h}.test/p${p}`, next);
    }
  }

  /** The smaller side of a partition, under majority. */
  function partition(): string[] {
    const c = new Cluster({ ids, web: dense, seeds, quorum: 'majority' });
    c.startAll();
    c.runUntil('the crawl is on its way', () => c.log.length >= 60);
    for (const other of ['a2', 'a3']) {
      c.network.cut('a1', other);
      c.network.cut(other, 'a1');
    }
    c.run(3 * SUSPECT_MS);
    return c.impolite();
  }

  /** Stopped while alone; on waking nothing tells it that others have come. */
  function wakes(): string[] {
    const c = new Cluster({ ids, web, seeds });
    c.start('a1');
    c.runUntil('a1 crawls alone', () => c.log.length >= 60);
    c.stall('a1', 2 * SUSPECT_MS);
    c.lose = (_, to) => to === 'a1';
    c.start('a2');
    c.start('a3');
    c.run(2 * SUSPECT_MS + 300);
    return c.impolite();
  }

  for (const [rule, scenario] of [
    ['lease', partition],
    ['own-stall', wakes],
  ] as const) {
    it(rule, () => {
      assert.deepEqual(scenario(), []);
      without(rule, () => assert.notDeepEqual(scenario(), []));
    });
  }
});
