// The members of a cluster whose agents know only their neighbours, from the events of all files.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StateFile } from '../../../../agent/cli/common/query-files.ts';
import { historyOf, lastView } from '../../../../agent/cli/state-files/query-members.ts';

type Event = readonly [at: number, kind: string, detail: object];

function fileOf(agent: string, ...events: readonly Event[]): StateFile {
  const rows = events.map(([at, kind, detail]) => [at, kind, JSON.stringify(detail)]);
  return { agent, rows: () => rows.values() } as unknown as StateFile;
}

const joined = (agent: string, ...others: readonly string[]) =>
  ({ agent, view: [agent, ...others], capacity: 1 }) as const;
const viewOf = (...files: readonly StateFile[]) =>
  lastView(files.map(historyOf), 'kademlia').view.join('');

test('members: an agent that the others removed is none', () => {
  const a = fileOf('a', [1, 'join', joined('a')], [2, 'join', { agent: 'b' }]);
  const b = fileOf('b', [2, 'join', joined('b', 'a')]);
  assert.equal(viewOf(a, b), 'ab');
  const removed = fileOf('a', [2, 'join', joined('a', 'b')], [9, 'suspect', { agent: 'b' }]);
  assert.equal(viewOf(removed, b), 'a');
});

test('members: agents that did not return after all were killed are none', () => {
  const before = ['a', 'b', 'x', 'y'];
  const first = (id: string): Event => [1, 'join', joined(id, ...before)];
  const [x, y] = [fileOf('x', first('x')), fileOf('y', first('y'))];
  const [a, b] = [fileOf('a', first('a')), fileOf('b', first('b'))];
  assert.equal(viewOf(a, b, x, y), 'abxy');
  const a2 = fileOf('a', first('a'), [8, 'join', joined('a')], [9, 'join', { agent: 'b' }]);
  const b2 = fileOf('b', first('b'), [9, 'join', joined('b', 'a')]);
  assert.equal(viewOf(a2, b2, x, y), 'ab');
  const x2 = fileOf('x', first('x'), [10, 'join', joined('x', 'a')]);
  assert.equal(viewOf(a2, b2, x2, y), 'abx', 'x has returned');
});

test('members: an agent that one did not meet again is one if others have it in view', () => {
  const x = fileOf('x', [1, 'join', joined('x', 'a', 'b')]);
  const a = fileOf('a', [1, 'join', joined('a', 'x')], [8, 'join', joined('a', 'b')]);
  const b = fileOf('b', [1, 'join', joined('b', 'x')], [8, 'join', { agent: 'a' }]);
  assert.equal(viewOf(a, b, x), 'abx');
});

test('members: a crawl is not complete any more after a block has been taken back', () => {
  const whole: readonly Event[] = [
    [1, 'join', joined('a')],
    [2, 'order', { order: 'block', host: '*', value: 1, by: 'a' }],
    [3, 'complete', { view: ['a'], backups: 1 }],
  ];
  assert.equal(historyOf(fileOf('a', ...whole)).end, 'complete');
  const off: Event = [4, 'order', { order: 'block', host: '*', value: null, by: 'a' }];
  const { end, view, lastAt } = historyOf(fileOf('a', ...whole, off));
  assert.deepEqual([end, [...view], lastAt], [null, ['a'], 3]);
  const delay: Event = [4, 'order', { order: 'delay', host: '*', value: null, by: 'a' }];
  assert.equal(historyOf(fileOf('a', ...whole, delay)).end, 'complete');
});

test('members: a directive taken back in the file of a dead agent does not restore its view', () => {
  const off: Event = [9, 'order', { order: 'delay', host: '*', value: null, by: 'a' }];
  const a = fileOf(
    'a',
    [1, 'join', joined('a', 'x')],
    [2, 'suspect', { agent: 'x' }],
    [3, 'join', { agent: 'b' }],
    [4, 'complete', { view: ['a', 'b'], backups: 1 }],
    off,
  );
  const x = fileOf('x', [1, 'join', joined('x', 'a')], [10, off[1], off[2]]);
  const { last, view } = lastView([a, x].map(historyOf), 'ring');
  assert.deepEqual([last?.agent, last?.end, view], ['a', 'complete', ['a', 'b']]);
});
