import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CircleView, circleView } from '../../../../agent/cli/views/circle-view.ts';

const cluster = { overlay: 'kademlia', kademlia: { ids: 8 }, replicas: 20 } as const;

function viewOf(agents: number, overlay: 'kademlia' | 'ring' = 'kademlia'): CircleView {
  const parts = Array.from({ length: agents }, (_, k) => ({ id: `a${k + 1}`, capacity: 1 }));
  return circleView({ ...cluster, overlay } as never, [], parts);
}

/** The share of each agent according to the trie, and the forks above the deepest node. */
function sharesOf({ trie = [], agents }: CircleView) {
  const shares = new Map(agents.map(({ id }) => [id, 0]));
  let [next, deepest] = [0, 0];
  const walk = (forks: number, above: number) => {
    const node = trie[next++];
    deepest = Math.max(deepest, forks);
    if (node === null || node === undefined) return;
    if (node < 0) {
      const { id } = agents[-1 - node]!;
      shares.set(id, shares.get(id)! + 2 ** -forks);
      return;
    }
    assert.ok(node > above, 'the identifiers of a part have more bits in common');
    walk(forks + 1, node);
    walk(forks + 1, node);
  };
  walk(0, -1);
  assert.equal(next, trie.length);
  return { shares: Object.fromEntries(shares), deepest };
}

test('circle view: the trie has the agents of the slices and their shares', () => {
  const view = viewOf(4);
  const { shares } = sharesOf(view);
  assert.ok(!view.trie!.includes(null));
  assert.equal(view.trie!.filter((node) => node! < 0).length, 32);
  for (const [id, share] of Object.entries(view.shares)) assert.equal(shares[id], share, id);
  // A leaf and the slice in its middle have the same owner.
  const first = view.trie!.find((node) => node! < 0)!;
  assert.equal(view.slices[0], -1 - first);
});

test('circle view: of many agents the deep parts of the trie are left out; a ring has none', () => {
  const view = viewOf(300);
  assert.ok(view.trie!.includes(null));
  assert.ok(view.trie!.length < 2 ** 10);
  assert.equal(sharesOf(view).deepest, 9);
  assert.equal(viewOf(4, 'ring').trie, undefined);
});
