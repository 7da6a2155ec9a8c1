import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Completion } from '../../../../agent/core/lifecycle/completion.ts';
import type { Tree } from '../../../../agent/core/membership/overlay.ts';
import type { View } from '../../../../agent/core/membership/view.ts';
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
