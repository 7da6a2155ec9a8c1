import assert from 'node:assert/strict';
import { test } from 'node:test';
import { movedTo, nodesOf } from '../../../../agent/networks/redis/cluster-nodes.ts';

test('cluster nodes: MOVED names the node that has the slot', () => {
  const cases = [
    ['MOVED 3999 127.0.0.1:6381', { host: '127.0.0.1', port: 6381 }],
    ['MOVED 0 node-2.example.org:7', { host: 'node-2.example.org', port: 7 }],
    ['MOVED 3999 2001:db8::7:6381', { host: '2001:db8::7', port: 6381 }],
    ['MOVED 3999 :6381', { host: 'here', port: 6381 }],
    ['MOVED 3999 ?:6381', { host: 'here', port: 6381 }],
    ['ASK 3999 127.0.0.1:6381', null],
    ['MOVED 3999 127.0.0.1', null],
    ['MOVED 3999 127.0.0.1:0', null],
    ['MOVED 3999 127.0.0.1:65536', null],
    ['MOVED', null],
    ['', null],
  ] as const;
  for (const [text, node] of cases) assert.deepEqual(movedTo(text, 'here'), node, text);
});

test('cluster nodes: each node is named once, replicas too', () => {
  const [one, two] = [
    ['10.0.0.1', 7, 'id1', []],
    ['', 8, 'id2', ['hostname', 'x']],
  ];
  const reply = [
    [0, 99, one, two],
    [100, 16_383, [null, 9, 'id3'], one],
  ];
  assert.deepEqual(nodesOf(reply, 'here'), [
    { host: '10.0.0.1', port: 7 },
    { host: 'here', port: 8 },
    { host: 'here', port: 9 },
  ]);
});

test('cluster nodes: what is no list of slots has no nodes', () => {
  const wrong = [null, 'x', 7, [], [7], [[0, 1]], [[0, 1, 'x', [], ['h', '7'], ['h', -1]]]];
  for (const reply of wrong) assert.deepEqual(nodesOf(reply, 'here'), [], JSON.stringify(reply));
});
