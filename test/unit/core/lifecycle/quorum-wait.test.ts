import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { QuorumWait } from '../../../../agent/core/lifecycle/quorum-wait.ts';
import type { Member } from '../../../../agent/core/membership/view.ts';
import { Effects } from '../../../../agent/core/protocol/effects.ts';

function stageOf(quorum: 'none' | 'majority' = 'majority') {
  const ids = ['a1', 'a2', 'a3', 'a4', 'a5'];
  const effects = new Effects();
  const state = { leased: false, hasOwners: true, silent: new Set(['a3', 'a4', 'a5']) };
  const wait = new QuorumWait({
    settings: {
      id: 'a1',
      quorum,
      configured: ids.map((id) => ({ id, address: `tcp://${id}:1` })),
      suspectAfterMs: 30_000,
    },
    view: {
      get: (id) => ({ silent: state.silent.has(id) }) as Member,
      joined: true,
      get hasOwners() {
        return state.hasOwners;
      },
    },
    right: { leased: () => state.leased },
    effects,
    shutdown: { state: 'crawling' },
  });
  const until = (seconds: number, from = 0) => {
    const said: string[] = [];
    for (let mono = from * 1000; mono < seconds * 1000; mono += 100) {
      wait.pump({ mono, wall: mono });
      for (const effect of effects.take()) {
        said.push(effect.type === 'warn' ? `${mono / 1000} ${effect.message}` : effect.type);
      }
    }
    return said;
  };
  return { wait, until, state };
}

describe('an agent without a majority', () => {
  it('names the agents of which some must be started, and looks for the end of the crawl', () => {
    const { wait, until, state } = stageOf();
    assert.deepEqual(until(5), []);
    const [warning, woke, ...more] = until(10, 5);
    const said =
      'has no majority: 2 of 5 agents are connected; start at least 1 of a3, a4, a5 (ubiring ' +
      'launch CONFIG on each machine), even if they have completed the crawl: they report its end';
    assert.deepEqual([warning, woke, more], [`5 ${said}`, 'woke', []]);
    assert.equal(wait.reason, said);
    state.silent.add('a2');
    assert.match(until(20, 10)[0]!, / 1 of 5 agents is connected; start at least 2 of a2, a3/);
  });

  it('has no reason to wait once a majority echoes it, and warns again later', () => {
    const { wait, until, state } = stageOf();
    until(6);
    state.leased = true;
    assert.deepEqual(until(7, 6), []);
    assert.equal(wait.reason, null);
    state.leased = false;
    assert.deepEqual(until(11, 7), []);
    assert.equal(until(13, 11).length, 2);
  });

  it('does not wait under quorum none', () => {
    assert.deepEqual(stageOf('none').until(60), []);
  });

  it('waits while all agents in view are drained', () => {
    const { wait, until, state } = stageOf('none');
    state.hasOwners = false;
    until(6);
    assert.match(wait.reason ?? '', /all agents in view are drained.*ubiring undrain CONFIG ID/);
    state.hasOwners = true;
    until(7, 6);
    assert.equal(wait.reason, null);
  });
});
