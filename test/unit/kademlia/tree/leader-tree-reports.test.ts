// Whose reports count: the agent 0 leads the space, and the half with the first bit set reports to it.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KEY_BITS } from '../../../../assignment/identifiers.ts';
import { keyOfBits } from '../contacts.ts';
import { cardOf, hexOf, pathOf, Stage, suspectAfterMs } from './leader-tree-stage.ts';

/** `found` is the agent that a look-up of the first key of the half finds; null: none yet. */
function stageOf(found?: string | null) {
  const stage = new Stage([pathOf('0', ['0', '00'])], ['0', '00']);
  if (found !== undefined) stage.leaders.set(keyOfBits('1'), found === null ? null : cardOf(found));
  stage.beat();
  const isTaken = (from: string) => stage.told('1', {}, cardOf(from)) !== null;
  return { stage, isTaken };
}

describe('a report', () => {
  it('counts only if its sender is in the subtree', () => {
    const { isTaken } = stageOf();
    assert.equal(isTaken('0111'), false);
    assert.equal(isTaken('1111'), true);
  });

  it('counts for the region, whatever other bits their keys have', () => {
    const { stage } = stageOf('1');
    const key = 'f'.repeat(KEY_BITS / 4);
    const message = { ...{ type: 'TREE_TOLD' as const, key, length: 1, idle: true } };
    const told = { ...message, wave: '', sum: '0'.repeat(16) };
    assert.notEqual(stage.tree.onTold(cardOf('1'), told, 0), null);
  });

  it('counts if its sender is the nearest agent that was found, or nearer', () => {
    const { isTaken } = stageOf('101');
    assert.equal(isTaken('11'), false);
    assert.equal(isTaken('101'), true);
    assert.equal(isTaken('1001'), true);
    assert.equal(isTaken('101'), false, 'a nearer agent reports');
  });

  it('waits for the end of the look-up, except from the agent that reports already', () => {
    const { stage, isTaken } = stageOf(null);
    assert.equal(isTaken('1'), false);
    stage.leaders.set(keyOfBits('1'), cardOf('101'));
    assert.equal(isTaken('101'), true);
    stage.leaders.set(keyOfBits('1'), null);
    assert.equal(isTaken('101'), true);
    assert.equal(isTaken('11'), false);
    assert.equal(isTaken('1001'), false);
  });

  it('of an idle agent that leads nothing does not end the crawl', () => {
    const { stage } = stageOf('101');
    stage.told('1', {}, cardOf('11'));
    for (let i = 0; i < 20; i++) {
      for (const { message } of stage.beat()) stage.told('1', { wave: message.wave }, cardOf('11'));
    }
    assert.equal(stage.tree.isComplete, false);
  });

  it('of the next agent counts when the one before is gone, which is looked for once in a while', () => {
    const { stage, isTaken } = stageOf('101');
    assert.equal(isTaken('101'), true);
    stage.leaders.set(keyOfBits('1'), cardOf('1'));
    // The last report is valid for as long, and the next look-up begins as long after the first.
    for (const lookups of [1, 2]) {
      for (let ms = 0; ms < suspectAfterMs; ms += 100) {
        stage.beat();
        assert.equal(isTaken('11'), false);
      }
      assert.deepEqual(stage.lost, Array(lookups).fill(keyOfBits('1')));
    }
    stage.leaders.set(keyOfBits('1'), cardOf('11'));
    assert.equal(isTaken('11'), true);
  });
});

describe('reports of others', () => {
  it('are answered only for subtrees of which this agent must know', () => {
    const stage = stageOf().stage;
    assert.deepEqual(stage.told('1'), {
      ...{ type: 'TREE_ASK', key: hexOf('1'), length: 1, wave: '' },
    });
    for (const bits of ['', '0', '11', '00', '1'.repeat(KEY_BITS)]) {
      assert.equal(stage.told(bits, {}, cardOf('evil')), null, `'${bits}'`);
    }
  });

  it('are answered with their wave only while this agent asks for it', () => {
    const stage = new Stage([pathOf('00', ['0', '00'])], ['0', '00']);
    const cards = { '1': cardOf('1'), '01': cardOf('01') };
    for (const bits of ['1', '01'] as const) stage.leaders.set(keyOfBits(bits), cards[bits]);
    const tell = (bits: '1' | '01', wave: string) => stage.told(bits, { wave }, cards[bits])?.wave;
    stage.beat();
    assert.deepEqual([tell('1', ''), tell('01', '')], ['', '']);
    const [first] = stage.beat();
    const wave = first!.message.wave;
    assert.deepEqual([tell('1', wave), tell('1', 'old'), tell('01', '')], [wave, '', '']);
    // The other half has not answered the wave yet.
    for (let i = 0; i < 30; i++) {
      stage.beat();
      assert.deepEqual([tell('1', wave), tell('01', '')], [wave, '']);
    }
    tell('01', wave);
    stage.beat();
    stage.beat();
    assert.equal(tell('1', wave), '', 'the next wave has begun');
  });

  it('are not answered any more when another agent leads, so that the sender looks for it', () => {
    const stage = stageOf().stage;
    stage.paths = [pathOf('0', ['0', '00'], { first: 0n, key: 1n })];
    stage.beat();
    assert.equal(stage.told('1'), null);
  });
});
