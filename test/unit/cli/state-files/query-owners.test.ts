import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StateFile } from '../../../../agent/cli/common/query-files.ts';
import { ownersOf } from '../../../../agent/cli/state-files/query-owners.ts';
import { sha1 } from '../../../../agent/composition/placement.ts';
import { Kademlia } from '../../../../assignment/kademlia.ts';

type Event = [at: number, kind: string, detail: Record<string, unknown>];

const config = {
  cluster: { agents: 3, overlay: 'ring', replicas: 100, backups: 1 },
} as unknown as Parameters<typeof ownersOf>[1];

function file(agent: string, ...events: Event[]): StateFile {
  const rows = events.map(([at, kind, detail]) => [at, kind, JSON.stringify(detail)]);
  const none = () => [][Symbol.iterator]() as IterableIterator<unknown[]>;
  return {
    agent,
    path: agent,
    rows: () => rows.values(),
    plainRows: none,
    first: () => undefined,
    otherCrawl: () => undefined,
    check: () => ({ damage: null, unchecked: [] }),
    ...{ isCopy: false, endRows: () => {} },
    close: () => {},
  };
}

const joined = (agent: string, at: number): Event => [
  at,
  'join',
  { agent, members: 3, view: ['a1', 'a2', 'a3'] },
];
const hosts = Array.from({ length: 300 }, (_, k) => `h${k}.test`);

test('owners: an agent that the last writer removed owns nothing', () => {
  const files = [
    file('a1', joined('a1', 1), [50, 'suspect', { agent: 'a2' }]),
    file('a2', joined('a2', 2), [40, 'takeover', { from: 'a9', hosts: 1 }]),
    file('a3', joined('a3', 3)),
  ];
  const { view, owner, holders, complete } = ownersOf(files, config);
  assert.deepEqual([view, complete], [['a1', 'a3'], false]);
  const owning = new Set(hosts.map(owner));
  assert.deepEqual([...owning].sort(), ['a1', 'a3']);
  for (const host of hosts) assert.equal(holders(host)[0], owner(host));
  assert.ok(hosts.every((host) => holders(host).length === 2));
});

test('owners: an agent that rejoins is in the view again, an agent that leaves is not', () => {
  const back = file('a1', joined('a1', 1), [5, 'suspect', { agent: 'a2' }]);
  const again: Event = [9, 'join', { agent: 'a2' }];
  const rejoined = file('a1', joined('a1', 1), [5, 'suspect', { agent: 'a2' }], again);
  assert.deepEqual(ownersOf([back], config).view, ['a1', 'a3']);
  assert.deepEqual(ownersOf([rejoined], config).view, ['a1', 'a2', 'a3']);
  const left = file('a1', joined('a1', 1), [5, 'leave', { agent: 'a1' }]);
  assert.deepEqual(ownersOf([left], config).view, ['a2', 'a3']);
  assert.equal(ownersOf([left], config).histories[0]?.end, 'left');
});

test('owners: ignores the view of an agent that never joined or was refused later', () => {
  const others = [file('a1', joined('a1', 1)), file('a2', joined('a2', 2))];
  const never = file('a4', [5, 'quarantine', {}], [9, 'refused', { agent: 'a1' }]);
  assert.deepEqual(ownersOf([...others, never], config).view, ['a1', 'a2', 'a3']);
  const left: Event = [1.5, 'leave', {}];
  const late = file('a3', joined('a3', 1), left, [9, 'refused', { agent: 'a1' }]);
  assert.deepEqual(ownersOf([...others, late], config).view, ['a1', 'a2', 'a3']);
});

test('owners: agents that end after completion stay owners', () => {
  const complete: Event = [20, 'complete', { view: ['a1', 'a3'] }];
  const files = [file('a1', joined('a1', 1), complete, [30, 'suspect', { agent: 'a3' }])];
  const owners = ownersOf(files, config);
  assert.deepEqual([owners.view, owners.complete], [['a1', 'a3'], true]);
  const anew = [file('a1', joined('a1', 1), complete, joined('a1', 40))];
  assert.equal(ownersOf(anew, config).complete, false, 'a later run continues the crawl');
});

test('owners: a complete crawl uses the members and backups of its completion', () => {
  const end: Event = [20, 'complete', { view: ['a1', 'a2', 'a3'], backups: 1 }];
  const files = [file('a1', joined('a1', 1), end), file('a3', [2, 'join', { capacity: 4 }], end)];
  const then = ownersOf(files, config);
  const now = { cluster: { ...config.cluster, agents: 2, backups: 2 } };
  const { view, backups, owner, holders } = ownersOf(files, now);
  assert.deepEqual([view, backups], [['a1', 'a2', 'a3'], 1]);
  for (const host of hosts) {
    assert.equal(owner(host), then.owner(host));
    assert.equal(holders(host).length, 2);
  }
  assert.deepEqual([...new Set(hosts.map(owner))].sort(), ['a1', 'a2', 'a3']);
  const anew = ownersOf([file('a1', joined('a1', 1), end, joined('a1', 40))], now);
  assert.equal(anew.backups, 2, 'a crawl that continues uses its config');
});

test('owners: an agent whose file has no events counts as a member', () => {
  assert.deepEqual(ownersOf([file('a1'), file('a3')], config).view, ['a1', 'a3']);
  const damaged = file('a1', [1, 'join', {}]);
  const owners = ownersOf([{ ...damaged, rows: () => [[1, 'join', '{']].values() }], config);
  assert.deepEqual(owners.view, ['a1']);
});

const partial = {
  cluster: { ...config.cluster, overlay: 'kademlia', kademlia: { ids: 8 } },
} as typeof config;

const joinedWith = (agent: string, at: number, ...view: string[]): Event => [
  at,
  'join',
  { agent, members: view.length, view },
];

test('owners: the latest event about each agent decides if agents know only their neighbours', () => {
  const files = [
    file('a1', joinedWith('a1', 1, 'a1', 'a2', 'a4'), [9, 'join', { agent: 'a2' }]),
    file('a2', joinedWith('a2', 8, 'a1', 'a2', 'a3')),
    file('a3', joinedWith('a3', 3, 'a2', 'a3', 'a4'), [5, 'suspect', { agent: 'a2' }]),
    file('a4', joinedWith('a4', 2, 'a1', 'a3', 'a4'), [7, 'leave', { agent: 'a4' }]),
  ];
  const { view, owner } = ownersOf(files, partial);
  assert.deepEqual(view, ['a1', 'a2', 'a3']);
  const lists = new Kademlia(
    view.map((id) => ({ id, capacity: 1 })),
    { sha1, ids: 8 },
  );
  assert.deepEqual(
    hosts.map(owner),
    hosts.map((host) => lists.owner(host)),
  );
  assert.deepEqual(ownersOf(files, config).view, ['a1', 'a2', 'a4'], 'the last file decides');
});

test('owners: an agent knows its own capacity better than its former neighbours', () => {
  const files = [
    file('a1', [1, 'join', { agent: 'a1', capacity: 1 }]),
    file('a1', [2, 'join', { agent: 'a1', capacity: 3 }]),
    file('a2', [1, 'join', { agent: 'a1', capacity: 1 }], [9, 'join', { agent: 'a2' }]),
  ];
  const members = [
    { id: 'a1', capacity: 3 },
    { id: 'a2', capacity: 1 },
  ];
  const lists = new Kademlia(members, { sha1, ids: 8 });
  const { owner } = ownersOf(files, partial);
  assert.deepEqual(
    hosts.map(owner),
    hosts.map((host) => lists.owner(host)),
  );
});
