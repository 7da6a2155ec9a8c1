import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { Completion } from '../../../../agent/core/lifecycle/completion.ts';
import type { Tree } from '../../../../agent/core/membership/overlay.ts';
import type { Member, View } from '../../../../agent/core/membership/view.ts';
import type { CoreSettings } from '../../../../agent/core/protocol/settings.ts';

test('completion: in a partial view, any activity voids what was found out about all agents', () => {
  const tree = { isComplete: false } as Tree;
  const overlay = { isPartial: true, tree };
  const view = {} as View;
  const completion = new Completion({} as CoreSettings, view, overlay);
  completion.sample(true, 1);
  tree.isComplete = true;
  assert.equal(completion.isComplete(true, 1), true);
  completion.activity();
  completion.sample(true, 2);
  assert.equal(completion.isComplete(true, 1), false);
});

describe('completion under majority', () => {
  /** An idle agent a1 of five, with an idle member a2 if `met`. */
  function stageOf(completedBy: readonly string[], met = false) {
    const ids = ['a1', 'a2', 'a3', 'a4', 'a5'];
    const configured = ids.map((id) => ({ id, address: `tcp://${id}:1` }));
    const settings = { id: 'a1', quorum: 'majority', configured, completedBy } as const;
    const news = new Map([['a1', { inc: 1, counter: 9, direct: true }]]);
    const lastHeartbeat = { counter: 9, idle: true, idleSince: 1, viewHash: 'v', news };
    const members = met ? [{ card: { id: 'a2', inc: 1 }, lastHeartbeat } as unknown as Member] : [];
    const view = { members: () => members.values(), hash: () => 'v' } as unknown as View;
    const overlay = { isPartial: false, tree: { isComplete: false } as Tree };
    const completion = new Completion(settings as unknown as CoreSettings, view, overlay);
    const isComplete = () => {
      completion.sample(true, 1);
      return completion.isComplete(true, 1);
    };
    return { completion, isComplete, members };
  }

  it('counts the members at an earlier end', () => {
    assert.equal(stageOf(['a1', 'a2', 'a3']).isComplete(), true);
    assert.equal(stageOf(['a1', 'a2']).isComplete(), false);
    assert.equal(stageOf([]).isComplete(), false);
  });

  it('an agent that was away counts the members that another names, if both are idle', () => {
    const { completion, isComplete, members } = stageOf([], true);
    assert.equal(isComplete(), false);
    completion.learn(['a2', 'a3', 'a4', 'not in the config'], false);
    assert.equal(isComplete(), false, 'that end does not cover its directives');
    completion.learn(['a2', 'a3', 'a4', 'not in the config'], true);
    assert.equal(isComplete(), true);
    assert.deepEqual(completion.members, ['a1', 'a2', 'a3', 'a4']);
    Object.assign(members[0]!.lastHeartbeat!, { idle: false });
    assert.equal(isComplete(), false);
  });

  it('forgets an earlier end when the crawl is reopened or a majority has been in view', () => {
    const ordered = stageOf(['a1', 'a2', 'a3']);
    ordered.completion.reopened();
    assert.equal(ordered.isComplete(), false);
    const met = stageOf(['a1', 'a2', 'a3'], true);
    met.members.push(
      { card: { id: 'a3', inc: 1 } } as Member,
      { card: { id: 'a4', inc: 1 } } as Member,
    );
    met.completion.viewChanged();
    met.members.length = 1;
    met.completion.viewChanged();
    assert.equal(met.isComplete(), false);
  });
});
