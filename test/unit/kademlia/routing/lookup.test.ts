import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Contact } from '../../../../agent/kademlia/routing/contact.ts';
import {
  Lookup,
  type LookupOptions,
  type NearestFound,
} from '../../../../agent/kademlia/routing/lookup.ts';
import { contactOf, idsOf, namedIdentifiers } from '../contacts.ts';

const timeoutMs = 100;

function lookupOf(start: readonly string[], options: Partial<LookupOptions> = {}): Lookup {
  return new Lookup({
    key: 0n,
    start: start.map((id) => contactOf(id)),
    self: 'self',
    identifiersOf: namedIdentifiers,
    bucketSize: 4,
    concurrency: 2,
    timeoutMs,
    purpose: 'node',
    ...options,
  });
}

const contactsOf = (...ids: string[]): Contact[] => ids.map((id) => contactOf(id));

function asks(lookup: Lookup, now = 0): string[] {
  return idsOf(lookup.next(now).asks);
}

function nearestFound(lookup: Lookup): NearestFound {
  const { result } = lookup;
  assert.ok(result?.kind === 'nearest');
  return result;
}

test('look-up: asks the nearest known agents, as many at a time as the concurrency', () => {
  const lookup = lookupOf(['1', '01', '001']);
  assert.deepEqual(asks(lookup), ['001', '01']);
  assert.deepEqual(asks(lookup), []);
  lookup.answered(contactOf('01'), contactsOf('0001', '00001'));
  assert.deepEqual(asks(lookup), ['00001']);
});

test('look-up: ends when the nearest known agents have all answered, not before', () => {
  const lookup = lookupOf(['1', '01'], { bucketSize: 2 });
  assert.deepEqual(asks(lookup), ['01', '1']);
  lookup.answered(contactOf('01'), contactsOf('001'));
  assert.deepEqual(asks(lookup), ['001']);
  assert.equal(lookup.result, null);
  lookup.answered(contactOf('001'), contactsOf('01'));
  lookup.next(0);
  const { nearest, complete, hops, messages } = nearestFound(lookup);
  assert.deepEqual([idsOf(nearest), complete, hops, messages], [['001', '01'], true, 2, 3]);
});

test('look-up: asks all of the nearest when a round brought nothing nearer', () => {
  const start = ['0001', '001', '01', '1'];
  const lookup = lookupOf(start);
  assert.deepEqual(asks(lookup), ['0001', '001']);
  lookup.answered(contactOf('0001'), []);
  assert.deepEqual(asks(lookup), ['01']);
  lookup.answered(contactOf('001'), []);
  // Without that rule only one request would be sent here, and with six agents none.
  assert.deepEqual(asks(lookup), ['1']);
  const wide = lookupOf([...start, '11', '111'], { bucketSize: 6 });
  asks(wide);
  for (const id of ['0001', '001']) wide.answered(contactOf(id), []);
  assert.deepEqual(asks(wide), ['01', '1', '11', '111']);
});

test('look-up: a nearer agent ends the wide search', () => {
  const lookup = lookupOf(['0001', '001', '01', '1'], { bucketSize: 8 });
  asks(lookup);
  lookup.answered(contactOf('001'), []);
  lookup.answered(contactOf('0001'), []);
  assert.deepEqual(asks(lookup), ['01', '1']);
  lookup.answered(contactOf('1'), contactsOf('00001', '000011', '0000111'));
  assert.deepEqual(asks(lookup), ['00001']);
});

test('look-up: an agent that does not answer in time has failed, and is not asked again', () => {
  const lookup = lookupOf(['01', '1'], { bucketSize: 2 });
  asks(lookup);
  lookup.answered(contactOf('1'), contactsOf('01'));
  assert.deepEqual(lookup.next(timeoutMs - 1), { asks: [], failed: [] });
  assert.deepEqual(lookup.next(timeoutMs), { asks: [], failed: [contactOf('01')] });
  assert.deepEqual(idsOf(nearestFound(lookup).nearest), ['1']);
});

test('look-up: a failed agent that is named again is not asked again', () => {
  const lookup = lookupOf(['01', '1', '11'], { bucketSize: 3 });
  asks(lookup);
  lookup.failed('01');
  assert.deepEqual(asks(lookup), ['11']);
  lookup.answered(contactOf('1'), contactsOf('01'));
  lookup.answered(contactOf('11'), contactsOf('01'));
  assert.deepEqual(asks(lookup), []);
  assert.deepEqual(idsOf(nearestFound(lookup).nearest), ['1', '11']);
});

test('look-up: says when it must be called next', () => {
  const lookup = lookupOf(['01', '1'], { concurrency: 1 });
  asks(lookup, 5);
  lookup.answered(contactOf('01'), []);
  asks(lookup, 7);
  assert.equal(lookup.nextAtMs(), 7 + timeoutMs);
  lookup.next(7 + timeoutMs);
  assert.equal(lookup.nextAtMs(), Number.POSITIVE_INFINITY);
});

test('look-up: an answer after the time-out counts while the look-up runs', () => {
  const lookup = lookupOf(['01', '1'], { bucketSize: 2, concurrency: 1 });
  asks(lookup);
  assert.deepEqual(asks(lookup, timeoutMs), ['1']);
  lookup.answered(contactOf('01'), []);
  lookup.answered(contactOf('1'), []);
  lookup.next(timeoutMs);
  assert.deepEqual(idsOf(nearestFound(lookup).nearest), ['01', '1']);
});

test('look-up: answers of agents that were not asked, and second answers, are ignored', () => {
  const lookup = lookupOf(['01', '1'], { concurrency: 1 });
  asks(lookup);
  lookup.answered(contactOf('1'), contactsOf('0001'));
  lookup.answered(contactOf('stranger'), contactsOf('0001'));
  lookup.answered(contactOf('01'), []);
  lookup.answered(contactOf('01'), contactsOf('0001'));
  lookup.failed('01');
  assert.deepEqual(asks(lookup), ['1']);
});

test('look-up: never asks this agent', () => {
  const lookup = lookupOf(['01', '0'], { self: '0' });
  assert.deepEqual(asks(lookup), ['01']);
  lookup.answered(contactOf('01'), contactsOf('0'));
  assert.deepEqual(asks(lookup), []);
  assert.ok(lookup.result !== null);
});

test('look-up: ends at once if nobody is known', () => {
  const lookup = lookupOf([]);
  asks(lookup);
  assert.deepEqual(nearestFound(lookup), {
    kind: 'nearest',
    nearest: [],
    complete: true,
    hops: 0,
    messages: 0,
  });
});

test('look-up: only bucketSize contacts of an answer are read', () => {
  const lookup = lookupOf(['1'], { bucketSize: 2, concurrency: 9 });
  asks(lookup);
  lookup.answered(contactOf('1'), contactsOf('01', '001', '0001'));
  assert.deepEqual(asks(lookup), ['001', '01']);
});

test('look-up: false nearer agents without end cost ten times bucketSize requests', () => {
  const lookup = lookupOf(['1']);
  let requests = 0;
  const asked = new Set<string>();
  for (let turn = 0; lookup.result === null && turn < 1000; turn++) {
    for (const contact of lookup.next(0).asks) {
      asked.add(contact.id);
      const bits = `${'0'.repeat(++requests)}1`;
      lookup.answered(
        contact,
        Array.from({ length: 1000 }, (_, i) => contactOf(`${bits}/${i}`)),
      );
    }
  }
  assert.equal(requests, 40);
  const { complete, nearest } = nearestFound(lookup);
  assert.equal(complete, false);
  assert.equal(nearest.length, 4);
  assert.ok(nearest.every(({ id }) => asked.has(id)));
});

test('look-up: after the last request it waits for the answers', () => {
  const lookup = lookupOf(['1'], { bucketSize: 1, concurrency: 1 });
  for (let i = 1; i <= 10; i++) {
    const id = `${'0'.repeat(i - 1)}1`;
    assert.deepEqual([asks(lookup), lookup.result], [[id], null]);
    lookup.answered(contactOf(id), contactsOf(`${'0'.repeat(i)}1`));
  }
  assert.deepEqual(asks(lookup), []);
  assert.equal(nearestFound(lookup).messages, 10);
});

test('look-up: an agent named at several addresses is one agent, asked at three of them at most', () => {
  const namers = ['1/a', '1/b', '1/c', '1/d', '1/e'];
  const lookup = lookupOf(namers, { bucketSize: 9, concurrency: 9 });
  asks(lookup);
  for (const [at, id] of namers.entries()) {
    lookup.answered(contactOf(id), [contactOf('01', `x${at}:1`), contactOf('01', `y${at}:1`)]);
  }
  const tried: string[] = [];
  for (let now = 0; lookup.result === null; now += timeoutMs) {
    tried.push(...lookup.next(now).asks.map(({ address }) => address));
  }
  assert.deepEqual(tried, ['x0:1', 'x1:1', 'x2:1']);
});

test('look-up: an agent that failed is asked at another address that is named later', () => {
  const lookup = lookupOf(['01', '1'], { bucketSize: 2 });
  asks(lookup);
  lookup.failed('01');
  lookup.answered(contactOf('1'), [contactOf('01', 'moved:1')]);
  assert.deepEqual(lookup.next(0).asks, [contactOf('01', 'moved:1')]);
});

test('look-up: an agent counts as it describes itself, not as it was named', () => {
  // With the capacity 1 it would have the identifier 0001 too.
  const lookup = lookupOf(['1+0001', '01'], { bucketSize: 2 });
  assert.deepEqual(asks(lookup), ['1+0001', '01']);
  lookup.answered({ ...contactOf('1+0001'), capacity: 0.5 }, []);
  lookup.answered(contactOf('01'), []);
  lookup.next(0);
  const { nearest } = nearestFound(lookup);
  assert.deepEqual(idsOf(nearest), ['01', '1+0001']);
  assert.equal(nearest[1]?.capacity, 0.5);
});

test('look-up: the value ends it, and is to be stored at the nearest agent without it', () => {
  const lookup = lookupOf(['01', '1', '11'], { purpose: 'value', concurrency: 3 });
  asks(lookup);
  lookup.answered(contactOf('11'), []);
  lookup.answered(contactOf('1'), contactsOf('001'));
  assert.deepEqual(asks(lookup), ['001']);
  lookup.answeredValue(contactOf('001'), 'v');
  assert.deepEqual(lookup.result, {
    kind: 'value',
    value: 'v',
    storeAt: contactOf('1'),
    hops: 2,
    messages: 4,
  });
  assert.deepEqual(asks(lookup), []);
});

test('look-up: a value from an agent that was not asked, or without purpose, does not count', () => {
  const lookup = lookupOf(['01'], { purpose: 'value' });
  asks(lookup);
  lookup.answeredValue(contactOf('1'), 'v');
  assert.deepEqual(asks(lookup), []);
  lookup.answeredValue(contactOf('01'), 'v');
  assert.deepEqual(lookup.result, {
    kind: 'value',
    value: 'v',
    storeAt: null,
    hops: 1,
    messages: 1,
  });
  const forNodes = lookupOf(['01']);
  asks(forNodes);
  forNodes.answeredValue(contactOf('01'), 'v');
  assert.equal(forNodes.result, null);
});
