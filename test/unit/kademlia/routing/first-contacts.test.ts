import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FirstContacts, KEPT_MAX } from '../../../../agent/kademlia/routing/first-contacts.ts';

const times = { heartbeatMs: 100, suspectAfterMs: 1000 };
const of = (address: string, ...contacts: string[]) =>
  new FirstContacts({ contacts, self: { address }, ...times });
const none = new Set<string>();
const isFar = () => false;

/** An agent at h:1 with the contact h:2 whose earlier processes kept these addresses. */
function keeping(...stored: string[]) {
  const saves: (readonly string[])[] = [];
  const kept = { read: () => stored, save: (list: readonly string[]) => void saves.push(list) };
  const self = { address: 'tcp://h:1' };
  const first = new FirstContacts({ contacts: ['tcp://h:2'], self, ...times, kept });
  const keep = (now: number, ...addresses: string[]) =>
    first.keep(() => addresses.map((address) => ({ address })), now);
  return { first, keep, saves };
}
const numbered = (count: number, from = 0) =>
  Array.from({ length: count }, (_, k) => `tcp://n${k + from}:1`);

test('first contacts: an agent that is no contact waits for one of them', () => {
  assert.equal(of('tcp://h:1', 'tcp://h:2').mayBeginAlone, false);
  assert.equal(of('tcp://h:1', 'tcp://h:1', 'tcp://h:2').mayBeginAlone, true);
});

test('first contacts: an agent that has kept addresses waits as well', () => {
  assert.equal(keeping('tcp://h:1', 'tcp://h:3').first.mayBeginAlone, false);
});

test('first contacts: asks all others with each heartbeat until it has a member', () => {
  const contacts = of('tcp://h:1', 'tcp://h:1', 'tcp://h:2', 'tcp://h:3');
  assert.deepEqual(contacts.due(none, isFar, 0), ['tcp://h:2', 'tcp://h:3']);
  assert.deepEqual(contacts.due(none, isFar, 99), []);
  assert.deepEqual(contacts.due(none, isFar, 100), ['tcp://h:2', 'tcp://h:3']);
});

test('first contacts: with members, asks the other contacts from time to time', () => {
  const contacts = of('tcp://h:1', 'tcp://h:2', 'tcp://h:3');
  const known = new Set(['tcp://h:2', 'tcp://h:9']);
  contacts.due(none, isFar, 0);
  const asked = (from: number, to: number) =>
    Array.from({ length: (to - from) / 50 }, (_, i) => from + 50 * i).filter((now) => {
      const due = contacts.due(known, isFar, now);
      assert.ok(due.every((endpoint) => endpoint === 'tcp://h:3'));
      return due.length > 0;
    });
  assert.deepEqual(asked(0, 6000), [2000, 4000]);
});

test('first contacts: the agents near a contact ask it four times before it may begin alone', () => {
  const contacts = of('tcp://h:1', 'tcp://h:2', 'tcp://h:3');
  const known = new Set(['tcp://h:9']);
  const isNear = (name: string) => name === 'tcp://h:3';
  contacts.due(none, isFar, 0);
  const asked = Array.from({ length: 20 }, (_, i) => contacts.due(known, isNear, 50 * (i + 1)));
  assert.deepEqual(asked.flat(), Array(4).fill('tcp://h:3'));
});

test('first contacts: kept addresses are asked with the contacts until it has a member', () => {
  const { first } = keeping('tcp://h:3', 'tcp://h:2', 'tcp://h:1', 'tcp://h:4');
  assert.deepEqual(first.due(none, isFar, 0), ['tcp://h:2', 'tcp://h:3', 'tcp://h:4']);
  assert.deepEqual(first.due(none, isFar, 100), ['tcp://h:2']);
  assert.deepEqual(first.due(none, isFar, 250), ['tcp://h:2', 'tcp://h:3', 'tcp://h:4']);
  const known = new Set(['tcp://h:9']);
  assert.deepEqual(
    [1300, 2300, 3300].flatMap((now) => first.due(known, isFar, now)),
    ['tcp://h:2', 'tcp://h:2', 'tcp://h:2'],
  );
});

test('first contacts: all kept addresses are asked before a contact may begin alone', () => {
  const stored = numbered(KEPT_MAX + 9);
  const { first } = keeping(...stored);
  const asked = new Set<string>();
  let most = 0;
  for (let now = 0; now < times.suspectAfterMs; now += 10) {
    const due = first.due(none, isFar, now);
    most = Math.max(most, due.length);
    for (const endpoint of due) asked.add(endpoint);
  }
  assert.deepEqual([...asked].sort(), ['tcp://h:2', ...stored.slice(0, KEPT_MAX)].sort());
  assert.equal(most, 1 + KEPT_MAX / 4, 'a few at a time');
  const again = Array.from({ length: 4 }, (_, k) => first.due(none, isFar, 1000 + 250 * k)).flat();
  assert.deepEqual(new Set(again), asked, 'then from the beginning');
});

test('first contacts: new addresses are saved before the old ones, from time to time', () => {
  const { first, keep, saves } = keeping('tcp://h:3');
  keep(0, 'tcp://h:5', 'tcp://h:4');
  keep(999, 'tcp://h:6');
  assert.deepEqual(saves, [['tcp://h:5', 'tcp://h:4', 'tcp://h:3']]);
  keep(1000, 'tcp://h:4', 'tcp://h:5');
  assert.equal(saves.length, 1, 'another order is not saved');
  keep(2000, 'tcp://h:6', 'tcp://h:4', 'tcp://h:6');
  assert.deepEqual(saves[1], ['tcp://h:6', 'tcp://h:4', 'tcp://h:5', 'tcp://h:3']);
  assert.deepEqual(first.others, saves[1]);
});

test('first contacts: a full list changes only for an agent that is not known any more', () => {
  const { keep, saves } = keeping(...numbered(KEPT_MAX));
  keep(0, ...numbered(KEPT_MAX + 5));
  assert.deepEqual(saves, []);
  keep(1000, ...numbered(KEPT_MAX, 1));
  assert.deepEqual(saves, [numbered(KEPT_MAX, 1)]);
});

test('first contacts: agents of the same data directory are asked first, while they run', () => {
  let running = [1, 2, 4, 5].map((n) => ({ id: `n${n}`, address: `tcp://h:${n}` }));
  const first = new FirstContacts({
    ...{ ...times, contacts: ['tcp://h:1', 'tcp://h:2'], self: { address: 'tcp://h:1' } },
    kept: { read: () => ['tcp://h:7', 'tcp://h:4'], save: () => {} },
    local: () => running,
  });
  assert.deepEqual(first.others, ['tcp://h:4', 'tcp://h:5', 'tcp://h:7']);
  assert.deepEqual(first.due(none, isFar, 0), ['tcp://h:2', 'tcp://h:4', 'tcp://h:5', 'tcp://h:7']);
  const ids = () => first.local.map(({ id }) => id);
  assert.deepEqual(ids(), ['n4', 'n5'], 'contacts may have started at the same time');
  running = [5, 6].map((n) => ({ id: `n${n}`, address: `tcp://h:${n}` }));
  assert.deepEqual(ids(), ['n5'], 'n6 has started later, and may not have answered yet');
});

test('first contacts: agents of the same data directory are saved once they are known', () => {
  const saves: (readonly string[])[] = [];
  const first = new FirstContacts({
    ...{ ...times, contacts: ['tcp://h:1'], self: { address: 'tcp://h:2' } },
    kept: { read: () => [], save: (list) => void saves.push(list) },
    local: () => [{ id: 'n3', address: 'tcp://h:3' }],
  });
  first.keep(() => [{ address: 'tcp://h:3' }], 0);
  assert.deepEqual(saves, [['tcp://h:3']]);
});
