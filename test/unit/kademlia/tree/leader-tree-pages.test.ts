// The census of the page limit over the tree of leaders. The space has two halves: 0 leads the whole
// space, and 1 the half with the first bit set.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PagesState } from '../../../../agent/core/protocol/overlay-messages.ts';
import { cardOf, hexOf, pathOf, Stage, type TreeTold } from './leader-tree-stage.ts';

const EPOCH = '1@0.1';
const NOTHING: PagesState = {
  ...{ epoch: EPOCH, base: 0, pages: 0, quiet: true, changes: 1, round: 0 },
};

/** The agent 0 with the agent 00 in its half; both have work. */
function leader(): Stage {
  const stage = new Stage([pathOf('0', ['0', '00'])], ['0', '00'], { countsPages: true });
  for (const id of ['0', '00']) says(stage, id, {});
  return stage;
}

function says(stage: Stage, id: string, pages: Partial<PagesState>): void {
  stage.set(id, { idle: false, pages: { ...NOTHING, ...pages } });
}

/** Beats until the census is complete, with the answers of the other half. */
function census(
  stage: Stage,
  answer: (wave: string) => { sum: string; pages: number },
  beats = 20,
) {
  let last: Partial<TreeTold> = {};
  for (let i = 0; i < beats; i++) {
    const found = stage.tree.census(EPOCH);
    if (found) return found;
    stage.told('1', { idle: false, ...last });
    for (const { message } of stage.beat()) {
      last = { wave: message.wave, base: 7, ...answer(message.wave) };
    }
  }
  return null;
}

const same = () => ({ sum: '0000000000000005', pages: 3 });

describe('the leader of the whole space', () => {
  it('adds the counts of its region and of the subtrees when two waves agree', () => {
    const stage = leader();
    says(stage, '0', { base: -2, pages: 1 });
    says(stage, '00', { base: 5, pages: 4 });
    assert.deepEqual(census(stage, same), { epoch: EPOCH, base: 10, pages: 8 });
    assert.equal(stage.tree.isComplete, false, 'the agents are not idle');
  });

  it('asks nothing unless it is called before the heartbeat', () => {
    const stage = leader();
    stage.told('1', { idle: false });
    for (let i = 0; i < 5; i++) assert.deepEqual(stage.beat(), []);
  });

  it('needs every agent in the epoch, with no host being handed over', () => {
    for (const odd of [{ epoch: '2@0.1' }, { quiet: false }]) {
      const stage = leader();
      says(stage, '00', odd);
      assert.equal(census(stage, same), null, JSON.stringify(odd));
    }
    const silent = leader();
    silent.set('00', { counter: 0 });
    silent.states.delete('00');
    assert.equal(census(silent, same), null);
  });

  it('two waves disagree if a view or the round changed between them', () => {
    for (const change of ['changes', 'round'] as const) {
      const stage = leader();
      let waves = 0;
      const found = census(stage, (wave) => {
        says(stage, '00', { [change]: ++waves });
        assert.ok(wave.includes(EPOCH));
        return same();
      });
      assert.equal(found, null, change);
    }
    const elsewhere = leader();
    let waves = 0;
    const differs = () => ({ sum: (++waves).toString(16).padStart(16, '0'), pages: 3 });
    assert.equal(census(elsewhere, differs), null);
  });

  it('counts may change while the sums of the digests agree', () => {
    const stage = leader();
    let pages = 0;
    const found = census(stage, () => ({ sum: '0000000000000005', pages: ++pages }));
    assert.ok(found && found.pages >= 2, 'the later wave counts');
  });
});

describe('the leader of a half', () => {
  /** Agent 1 with 11; agent 0 leads the space. */
  function half(countsPages: boolean): Stage {
    const stage = new Stage([pathOf('1', ['1', '11'])], ['1', '11'], { countsPages });
    stage.parents.set('0', cardOf('0'));
    for (const id of ['1', '11']) says(stage, id, { base: 2, pages: 2 });
    return stage;
  }

  it('reports at each heartbeat although its agents have work, if there is a page limit', () => {
    for (const countsPages of [true, false]) {
      const stage = half(countsPages);
      stage.beat('1');
      assert.equal(stage.beat('1').length, countsPages ? 1 : 0);
    }
  });

  it('answers a wave with the counts of its agents', () => {
    const stage = half(true);
    stage.beat('1');
    stage.asked('1', `#pages ${EPOCH}/4`);
    for (let i = 0; i < 3; i++) stage.beat('1');
    const [told] = stage.beat('1');
    assert.deepEqual(told?.to, '0');
    const { message } = told!;
    assert.ok(message.type === 'TREE_TOLD');
    const { key, idle, wave, base, pages } = message;
    assert.deepEqual(
      { key, idle, wave, base, pages },
      { key: hexOf('1'), idle: false, wave: `#pages ${EPOCH}/4`, base: 4, pages: 4 },
    );
  });
});
