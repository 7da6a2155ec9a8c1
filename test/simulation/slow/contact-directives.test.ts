// Directives in a cluster whose views form two groups that do not touch: the identifiers of three
// agents begin with the bit 0 and those of the others with 1.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { cluster } from '../case-kit.ts';
import { everyoneKnows, give, PAUSE, RESUME } from '../orders-stage.ts';

const IDS = [...'abcdjl'];
const kademlia = { contacts: ['a'], ids: 1, neighbourhood: 3, bucketSize: 4 };

it('orders: a directive given to one agent passes from group to group, and to late agents', () => {
  const c = cluster(IDS, { kademlia, backups: 0, delayMs: 2000 }, 3, 600);
  c.startAll();
  const views = () =>
    IDS.map((id) =>
      c
        .snapshot(id)
        .members.map((one) => one.id)
        .sort()
        .join(''),
    );
  c.runUntil('two groups', () => views().join(' ') === 'bc ac ab jl dl dj', 60_000);
  c.run(100_000);
  give(c, 'b', PAUSE);
  everyoneKnows(c, (id) => c.snapshot(id).paused);
  assert.deepEqual(views(), ['bc', 'ac', 'ab', 'jl', 'dl', 'dj']);
  c.kill('l');
  give(c, 'a', RESUME);
  everyoneKnows(c, (id) => !c.snapshot(id).paused);
  c.start('l');
  everyoneKnows(c, (id) => !c.snapshot(id).paused);
});
