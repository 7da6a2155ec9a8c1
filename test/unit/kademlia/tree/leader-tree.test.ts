// Two waves must show the same agents in the same idle periods. Mostly the space has two halves: 0
// leads the whole space, and 1 the half with the first bit set.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LedPath } from '../../../../agent/kademlia/tree/duties.ts';
import { KEY_BITS } from '../../../../assignment/identifiers.ts';
import { keyOfBits } from '../contacts.ts';
import { cardOf, hexOf, pathOf, Stage, type TreeTold } from './leader-tree-stage.ts';

/** The agent 0 with the agent 00 in its half leads the space. */
function leader(): Stage {
  const stage = new Stage([pathOf('0', ['0', '00'])], ['0', '00']);
  stage.beat();
  stage.told('1');
  return stage;
}

describe('the leader of the whole space', () => {
  it('alone in it, needs two waves', () => {
    const stage = new Stage([pathOf('', ['0'])], ['0']);
    for (let i = 0; i < 3; i++) stage.beat();
    assert.equal(stage.tree.isComplete, false);
    for (let i = 0; i < 3; i++) stage.beat();
    assert.equal(stage.tree.isComplete, true);
  });

  it('finds that the crawl is complete when two waves agree', () => {
    const stage = leader();
    stage.waves(20);
    assert.equal(stage.tree.isComplete, true);
  });

  it('waits longer for the answers of a deep space', () => {
    const stage = new Stage([pathOf('0000', ['0'])], ['0']);
    // Each wave takes six times as long as an agent may be silent.
    const answeredAt = new Map<string, number>();
    for (let i = 0; i < 200 && !stage.tree.isComplete; i++) {
      for (const { message } of stage.beat()) {
        if (!answeredAt.has(message.wave)) answeredAt.set(message.wave, i + 60);
      }
      const wave = [...answeredAt].findLast(([, at]) => at <= i)?.[0] ?? '';
      for (const bits of ['0001', '001', '01', '1']) stage.told(bits, { wave }, cardOf(bits));
    }
    assert.equal(stage.tree.isComplete, true);
  });

  it('asks each wave under another name', () => {
    const stage = leader();
    const names = new Set<string>();
    stage.waves(20, (wave) => {
      names.add(wave);
      return '0000000000000005';
    });
    assert.ok(names.size >= 2);
    for (const name of names) assert.match(name, /^0\.1\//);
  });

  it('does not begin before every subtree has reported, and each agent is idle', () => {
    const silent = new Stage([pathOf('0', ['0', '00'])], ['0', '00']);
    silent.waves(20);
    assert.equal(silent.tree.isComplete, false);
    const busy = leader();
    busy.set('00', { idle: false });
    busy.waves(20);
    assert.equal(busy.tree.isComplete, false);
    const below = leader();
    for (let i = 0; i < 20; i++) {
      for (const { message } of below.beat()) {
        below.told('1', { wave: message.wave, idle: false });
      }
    }
    assert.equal(below.tree.isComplete, false);
    const unheard = leader();
    unheard.states.delete('00');
    unheard.waves(20);
    assert.equal(unheard.tree.isComplete, false);
  });

  it('does not believe two waves with different sums', () => {
    const stage = leader();
    let asked = 0;
    stage.waves(30, () => (++asked).toString(16).padStart(16, '0'));
    assert.ok(asked > 4);
    assert.equal(stage.tree.isComplete, false);
  });

  it('does not count an answer to an earlier wave', () => {
    const stage = leader();
    let first = '';
    stage.waves(30, (wave) => {
      first ||= wave;
      return '0000000000000005';
    });
    assert.equal(stage.tree.isComplete, true);
    const again = leader();
    for (let i = 0; i < 30; i++) {
      again.beat();
      again.told('1', { wave: first });
    }
    assert.equal(again.tree.isComplete, false);
  });

  it('notices that an agent was replaced by another with the same number of idle periods', () => {
    const stage = leader();
    const waves = new Set<string>();
    for (let i = 0, quiet = 0; i < 40; i++) {
      const asks = stage.beat();
      for (const { message } of asks) stage.told('1', { wave: message.wave });
      for (const { message } of asks) waves.add(message.wave);
      quiet = asks.length > 0 ? 0 : quiet + 1;
      // The leader has waited for the second heartbeats of a wave, and has them all.
      if (quiet !== 2) continue;
      stage.states.delete('00');
      const other = `00${waves.size.toString(2)}`;
      stage.set(other, {});
      stage.paths = [pathOf('0', ['0', other])];
    }
    assert.ok(waves.size > 2);
    assert.equal(stage.tree.isComplete, false);
  });

  it('notices an agent that started again or was busy between the waves', () => {
    for (const change of ['inc', 'idleSince'] as const) {
      const stage = leader();
      let wave = 0;
      stage.waves(30, () => {
        stage.set('00', { [change]: ++wave });
        return '0000000000000005';
      });
      assert.ok(wave > 4);
      assert.equal(stage.tree.isComplete, false, change);
    }
  });

  it('does not compare with a wave before it was busy, or before it led', () => {
    for (const pause of ['busy', 'led'] as const) {
      const stage = leader();
      const waves = new Set<string>();
      const until = (count: number) => {
        while (waves.size < count && !stage.tree.isComplete) {
          for (const { message } of stage.beat()) {
            stage.told('1', { wave: message.wave });
            waves.add(message.wave);
          }
        }
      };
      until(2);
      const paths = [...stage.paths];
      if (pause === 'busy') stage.set('0', { idle: false });
      else stage.paths = [];
      stage.beat();
      stage.set('0', { idle: true });
      stage.paths = paths;
      stage.beat();
      stage.told('1');
      until(3);
      for (let i = 0; i < 4 && waves.size < 4; i++) {
        for (const { message } of stage.beat()) {
          if (!waves.has(message.wave)) waves.add(message.wave);
        }
      }
      assert.equal(stage.tree.isComplete, false, pause);
    }
  });

  it('samples heartbeats that were sent after the wave had begun', () => {
    const stage = leader();
    const { counter } = stage.states.get('00')!;
    for (let i = 0; i < 20; i++) {
      stage.set('00', { counter });
      for (const { message } of stage.beat()) stage.told('1', { wave: message.wave });
    }
    assert.equal(stage.tree.isComplete, false);
  });

  it('begins again when a wave stays without an answer, or a report is too old', () => {
    const stage = leader();
    const waves = new Set<string>();
    for (let i = 0; i < 100; i++) {
      for (const { message } of stage.beat()) waves.add(message.wave);
      stage.told('1');
    }
    assert.ok(waves.size >= 2);
    for (let i = 0; i < 11; i++) stage.beat();
    assert.deepEqual(stage.beat(), [], 'it asks nobody');
  });

  it('forgets all after a reset', () => {
    const stage = leader();
    stage.waves(20);
    stage.tree.reset();
    assert.equal(stage.tree.isComplete, false);
    assert.equal(stage.tree.verdictFor('00'), null);
    stage.beat();
    assert.deepEqual(stage.beat(), [], 'no subtree has reported');
  });
});

/** The agent 1 with the agent 11 in its half reports to 0. */
function reporter(): Stage {
  const stage = new Stage([pathOf('1', ['1', '11'])], ['1', '11']);
  stage.parents.set('0', cardOf('0'));
  return stage;
}

describe('the leader of a subtree', () => {
  it('reports to the agent nearest to the smallest key of the next larger subtree', () => {
    const { to, message } = reporter().beat('1')[0]!;
    const { type, key, length, wave } = message;
    assert.deepEqual([to, type, key, length, wave], ['0', 'TREE_TOLD', hexOf('1'), 1, '']);
  });

  it('reports at each heartbeat while its agents are idle, and at every fourth while one is busy', () => {
    const stage = reporter();
    stage.set('11', { idle: false });
    const sent = Array.from({ length: 9 }, () => stage.beat('1').map(({ message }) => message));
    const indexes = sent.flatMap((messages, i) => (messages.length > 0 ? [i] : []));
    assert.deepEqual(indexes, [0, 4, 8]);
    assert.ok(sent.flat().every((message) => 'idle' in message && !message.idle));
    stage.set('11', { idle: true });
    for (let i = 0; i < 3; i++) assert.equal(stage.beat('1').length, 1);
  });

  it('looks for another parent while its agents are busy', () => {
    const stage = reporter();
    stage.set('11', { idle: false });
    for (let i = 0; i < 12; i++) stage.beat('1');
    assert.deepEqual(stage.lost, []);
    stage.beat('1');
    assert.deepEqual(stage.lost, [0n]);
  });

  it('reports nothing until its parent is found', () => {
    const stage = reporter();
    stage.parents.clear();
    assert.deepEqual(stage.beat('1'), []);
  });

  it('answers a wave only after two further heartbeats of each agent', () => {
    const stage = reporter();
    stage.beat('1');
    stage.asked('1', 'w');
    assert.deepEqual(
      [1, 2, 3].map(() => stage.beat('1')[0]!.message.wave),
      ['', '', 'w'],
    );
  });

  it('continues a wave when its parent only answers', () => {
    const stage = reporter();
    stage.beat('1');
    stage.asked('1', 'w');
    for (let i = 0; i < 2; i++) stage.beat('1');
    stage.asked('1', '');
    assert.equal(stage.beat('1')[0]!.message.wave, 'w');
  });

  it('keeps its answer to a wave while its parent answers with the wave', () => {
    const stage = reporter();
    stage.beat('1');
    stage.asked('1', 'w');
    for (let i = 0; i < 2; i++) stage.beat('1');
    for (let i = 0; i < 30; i++) {
      assert.equal(stage.beat('1')[0]!.message.wave, 'w');
      stage.asked('1', 'w');
    }
  });

  it('gives a new parent as much time as the first', () => {
    const stage = reporter();
    for (let i = 0; i < 8; i++) stage.beat('1');
    stage.parents.set('0', cardOf('00'));
    for (let i = 0; i < 10; i++) stage.beat('1');
    assert.deepEqual(stage.lost, []);
    stage.beat('1');
    assert.deepEqual(stage.lost, [0n]);
  });

  it('samples anew for another wave, and stops when the wave is too old', () => {
    const stage = reporter();
    stage.beat('1');
    stage.asked('1', 'w');
    for (let i = 0; i < 3; i++) stage.beat('1');
    stage.asked('1', 'v');
    assert.equal(stage.beat('1')[0]!.message.wave, '');
    for (let i = 0; i < 2; i++) stage.beat('1');
    assert.equal(stage.beat('1')[0]!.message.wave, 'v');
    for (let i = 0; i < 10; i++) stage.beat('1');
    for (let i = 0; i < 4; i++) assert.equal(stage.beat('1')[0]!.message.wave, '');
  });

  it('looks for another parent when this one never answers', () => {
    const stage = reporter();
    for (let i = 0; i < 10; i++) stage.beat('1');
    assert.deepEqual(stage.lost, []);
    stage.beat('1');
    assert.deepEqual(stage.lost, [0n]);
    for (let i = 0; i < 12; i++) {
      stage.beat('1');
      stage.asked('1', '');
    }
    assert.deepEqual(stage.lost, [0n]);
  });

  it('takes no answer and no wave from an agent to which it does not report', () => {
    const stage = reporter();
    for (let i = 0; i < 15; i++) {
      const [sent] = stage.beat('1');
      assert.equal(sent!.message.wave, '');
      stage.asked('1', 'false', 1, cardOf('evil'));
    }
    assert.deepEqual(stage.lost, [0n]);
  });

  it('ignores waves for subtrees that it does not lead, also for the whole space', () => {
    const stage = reporter();
    stage.beat('1');
    for (const bits of ['', '0', '01', '11', '1'.repeat(KEY_BITS)]) stage.asked(bits, 'false');
    for (let i = 0; i < 5; i++) assert.equal(stage.beat('1')[0]!.message.wave, '');
  });

  it('asks the subtrees below it, and adds their sums', () => {
    const stage = new Stage([pathOf('10', ['1'])], ['1']);
    stage.parents.set('0', cardOf('0'));
    const [early] = stage.beat('1');
    assert.ok(early?.message.type === 'TREE_TOLD');
    assert.equal(early.message.idle, false, 'the subtree 11 has not reported');
    stage.told('11', {}, cardOf('11'));
    stage.beat('1');
    stage.asked('1', 'w');
    const asks = stage.beat('1').filter(({ to }) => to === '11');
    assert.deepEqual(
      asks.map(({ message }) => [message.type, message.key, message.length, message.wave]),
      [['TREE_ASK', hexOf('11'), 2, 'w']],
    );
    const sums = [1n, 2n].map((sum) => {
      stage.told('11', { wave: 'w', sum: sum.toString(16).padStart(16, '0') }, cardOf('11'));
      for (let i = 0; i < 2; i++) stage.beat('1');
      const sent = stage.beat('1').map(({ message }) => message);
      return sent.flatMap((one) => (one.type === 'TREE_TOLD' ? [BigInt(`0x${one.sum}`)] : []))[0]!;
    });
    assert.equal(sums[1]! - sums[0]!, 1n);
  });
});

describe('the verdict', () => {
  it('goes to the subtrees until their leaders answer', () => {
    const stage = leader();
    stage.waves(20);
    const isDone = () => stage.beat().filter(({ message }) => message.type === 'TREE_DONE');
    stage.told('1');
    const [sent] = isDone();
    assert.equal(sent?.to, '1');
    assert.equal(stage.tree.hasToldVerdict, false);
    stage.told('1');
    assert.equal(isDone().length, 1, 'it is repeated');
    stage.done('1', sent.message.wave, cardOf('evil'));
    assert.equal(isDone().length, 1, 'only the leader can answer');
    stage.done('1', sent.message.wave, cardOf('1'));
    assert.deepEqual(isDone(), []);
    assert.equal(stage.tree.hasToldVerdict, true);
  });

  it('covers the idle periods that were sampled, and no later ones', () => {
    const stage = leader();
    stage.set('00', { idleSince: 7 });
    stage.waves(20);
    stage.set('00', { idleSince: 9 });
    stage.beat();
    assert.equal(stage.tree.verdictFor('00')?.idleSince, 7);
    assert.equal(stage.tree.verdictFor('1'), null, 'an agent of another leader');
  });

  it('is withdrawn when this agent has new work', () => {
    const stage = leader();
    stage.waves(20);
    stage.tree.isComplete = false;
    assert.equal(stage.tree.verdictFor('00'), null);
    stage.set('0', { idle: false });
    stage.told('1');
    assert.deepEqual(stage.beat(), []);
  });

  const waved = () => {
    const stage = reporter();
    stage.beat('1');
    stage.asked('1', 'w');
    for (let i = 0; i < 3; i++) stage.beat('1');
    return stage;
  };

  it('is accepted from the parent, for the last wave that was answered', () => {
    const stage = waved();
    stage.asked('1', 'x');
    stage.beat('1');
    assert.equal(stage.done('1', 'x'), null, 'the agents are being sampled');
    stage.asked('1', 'w');
    for (let i = 0; i < 3; i++) stage.beat('1');
    assert.equal(stage.done('1', 'w', cardOf('evil')), null);
    assert.equal(stage.done('1', 'v'), null);
    assert.equal(stage.done('10', 'w'), null);
    stage.beat('1');
    assert.equal(stage.tree.isComplete, false);
    assert.equal(stage.done('1', 'w')?.type, 'TREE_DONE');
    stage.beat('1');
    assert.equal(stage.tree.isComplete, true);
    assert.deepEqual(stage.tree.verdictFor('11'), { idleSince: 1, wave: 'w' });
    for (let i = 0; i < 20; i++) stage.beat('1');
    assert.notEqual(stage.tree.verdictFor('11'), null, 'it is kept');
  });

  it('does not end a leader that has worked since', () => {
    const stage = waved();
    stage.done('1', 'w');
    stage.set('1', { idleSince: 5 });
    stage.beat('1');
    assert.equal(stage.tree.isComplete, false);
  });

  it('keeps the idle periods of the first answer to a wave', () => {
    const stage = waved();
    stage.set('11', { idleSince: 5 });
    stage.beat('1');
    stage.done('1', 'w');
    assert.equal(stage.tree.verdictFor('11')?.idleSince, 1);
  });
});

describe('an agent that leads a subtree and the next larger one', () => {
  it('reports to itself, asks itself, and adds both sums, without a message', () => {
    const stage = new Stage([pathOf('10', ['1']), pathOf('11', ['1'])], ['1']);
    for (const id of ['0', '1']) stage.parents.set(id, cardOf(id));
    const [early] = stage.beat('1');
    assert.ok(early?.message.type === 'TREE_TOLD');
    assert.equal(early.message.idle, false, 'its half 11 reports first');
    const sums = new Map<string, string>();
    for (let i = 0; i < 30; i++) {
      const sent = stage.beat('1');
      assert.deepEqual(
        sent.map(({ to, message }) => [to, message.type, message.length]),
        [['0', 'TREE_TOLD', 1]],
      );
      for (const { message } of sent) sums.set(message.wave, (message as TreeTold).sum);
      stage.asked('1', 'w');
    }
    const sum = (2n * 1_000_003n).toString(16).padStart(16, '0');
    assert.equal(sums.get('w'), sum, 'its idle period, once for each half');
    assert.deepEqual(stage.lost, [], 'it answers itself');
  });

  it('looks for another parent if it is found itself, but does not lead the larger one', () => {
    const stage = reporter();
    stage.parents.set('0', cardOf('1'));
    for (let i = 0; i < 11; i++) assert.deepEqual(stage.beat('1'), []);
    assert.deepEqual(stage.lost, [0n]);
  });
});

describe('who leads a subtree', () => {
  const sendsOf = (path: LedPath, me = '1') => {
    const stage = new Stage([path], path.agents);
    stage.parents.set('0', cardOf('0'));
    stage.parents.set('1', cardOf('10'));
    return stage.beat(me).map(({ message }) => message.length);
  };

  it('is the agent with the smallest identifier', () => {
    assert.deepEqual(sendsOf(pathOf('1', ['1'])), [1]);
    const smaller = { first: keyOfBits('1') };
    assert.deepEqual(sendsOf(pathOf('1', ['1', '11'], { ...smaller, key: keyOfBits('11') })), []);
  });

  it('is unknown while the region is, or a level beside the path is doubtful', () => {
    assert.deepEqual(sendsOf(pathOf('1', ['1'], { length: KEY_BITS })), []);
    assert.deepEqual(sendsOf(pathOf('1', ['1'], { beside: ['doubtful'] })), []);
  });

  it('is the leader of the larger subtree too, if the other side is empty', () => {
    assert.deepEqual(sendsOf(pathOf('11', ['1'], { beside: ['occupied', 'empty'] })), [1]);
    assert.deepEqual(sendsOf(pathOf('10', ['1'], { beside: ['occupied', 'empty'] })), [1]);
    assert.deepEqual(sendsOf(pathOf('11', ['1'], { beside: ['empty', 'occupied'] })), [2]);
  });

  it('is nobody in a region whose few neighbours have all of it in theirs', () => {
    assert.deepEqual(sendsOf(pathOf('1', ['1'], { few: () => ['0'] })), []);
  });

  it('has the few agents beside its path in its own sums', () => {
    const stage = new Stage([pathOf('0', ['0'], { few: () => ['1'] })], ['0', '1']);
    for (let i = 0; i < 8; i++) stage.beat();
    assert.equal(stage.tree.isComplete, true);
    const busy = new Stage([pathOf('0', ['0'], { few: () => ['1'] })], ['0', '1']);
    busy.set('1', { idle: false });
    for (let i = 0; i < 8; i++) busy.beat();
    assert.equal(busy.tree.isComplete, false);
  });
});
