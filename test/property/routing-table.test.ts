import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Contact,
  distanceTo,
  endOf,
  isIn,
  type Prefix,
  prefixOf,
} from '../../agent/kademlia/routing/contact.ts';
import { RoutingTable } from '../../agent/kademlia/routing/routing-table.ts';
import { KEY_BITS } from '../../assignment/identifiers.ts';
import { contactOf, idsOf, keyOfBits, namedIdentifiers } from '../unit/kademlia/contacts.ts';

const pingTimeoutMs = 10;

/** Short identifiers, so that many agents share regions and some share identifiers. */
const bits = fc.array(fc.constantFrom('0', '1'), { minLength: 1, maxLength: 6 });
const name = fc
  .array(
    bits.map((each) => each.join('')),
    { minLength: 1, maxLength: 3 },
  )
  .map((each) => each.join('+'));
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('seen' as const), agent: fc.nat(59) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('failed' as const), agent: fc.nat(59) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('pings' as const) }) },
);
const course = fc.record({
  self: name,
  names: fc.array(name, { minLength: 60, maxLength: 60 }),
  /** Whether an agent answers pings. */
  answers: fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
  bucketSize: fc.integer({ min: 1, max: 4 }),
  steps: fc.array(step, { maxLength: 150 }),
  key: bits.map((each) => keyOfBits(each.join(''))),
});
type Course = typeof course extends fc.Arbitrary<infer T> ? T : never;

interface Moment {
  readonly course: Course;
  readonly self: Contact;
  readonly table: RoutingTable;
  /** The time of the last message of each agent that has not failed since. */
  readonly seenMs: ReadonlyMap<string, number>;
  /** The buckets before the step, and who failed in it. */
  readonly before: ReturnType<RoutingTable['buckets']>;
  readonly failed: ReadonlySet<string>;
}

/** Runs a course, and checks the state after every step. */
function follow(each: Course, check: (moment: Moment) => void): void {
  const self = contactOf(`${each.self}/self`);
  const agents = each.names.map((of, at) => contactOf(`${of}/${at}`));
  const table = new RoutingTable({
    self,
    identifiersOf: namedIdentifiers,
    bucketSize: each.bucketSize,
    pingTimeoutMs,
    pingAfterMs: 0,
    refreshMs: 1000,
  });
  const seenMs = new Map<string, number>();
  const unanswered = new Map<string, number>();
  let now = 0;
  const seen = (contact: Contact) => {
    table.seen(contact, now);
    seenMs.set(contact.id, now);
    unanswered.delete(contact.id);
  };
  for (const { kind, ...rest } of each.steps) {
    now++;
    const before = table.buckets();
    const failed = new Set<string>();
    const agent = agents['agent' in rest ? rest.agent : 0]!;
    if (kind === 'seen') {
      seen(agent);
    } else if (kind === 'failed') {
      table.failed(agent);
      failed.add(agent.id);
    } else {
      now += pingTimeoutMs / 2;
      const pinged = table.pings(now);
      for (const [id, sentMs] of unanswered) if (now - sentMs >= pingTimeoutMs) failed.add(id);
      for (const contact of pinged) {
        if (each.answers[agents.indexOf(contact)]) seen(contact);
        else unanswered.set(contact.id, now);
      }
    }
    for (const id of failed) {
      seenMs.delete(id);
      unanswered.delete(id);
    }
    check({ course: each, self, table, seenMs, before, failed });
  }
}

function holds(check: (moment: Moment) => void): void {
  fc.assert(
    fc.property(course, (each) => follow(each, check)),
    { numRuns: 100 },
  );
}

/** For each level of each own identifier, the sibling of the subtree that contains it. */
function siblings(self: Contact): Prefix[] {
  return namedIdentifiers(self).flatMap((identifier) =>
    Array.from({ length: 12 }, (_, depth) => {
      const flipped = identifier ^ (1n << BigInt(KEY_BITS - 1 - depth));
      return prefixOf(flipped, depth + 1);
    }),
  );
}

function hasIdentifierIn(id: string, prefix: Prefix): boolean {
  return namedIdentifiers(contactOf(id)).some((identifier) => isIn(identifier, prefix));
}

test('routing table: the regions of the buckets partition the key space', () => {
  holds(({ table }) => {
    let next = 0n;
    for (const { prefix } of table.buckets()) {
      assert.equal(prefix.bits, next);
      next = endOf(prefix);
    }
    assert.equal(next, 1n << BigInt(KEY_BITS));
  });
});

test('routing table: a bucket has at most bucketSize contacts, all of its region, and as many wait', () => {
  holds(({ table, course: { bucketSize } }) => {
    for (const { prefix, ids, waiting } of table.buckets()) {
      assert.ok(ids.length <= bucketSize && waiting.length <= bucketSize);
      for (const id of [...ids, ...waiting]) assert.ok(hasIdentifierIn(id, prefix));
      if (ids.length < bucketSize) assert.deepEqual(waiting, []);
    }
  });
});

test('routing table: a bucket has the least recently seen contact first, and no failed one', () => {
  holds(({ table, seenMs }) => {
    for (const { ids, waiting } of table.buckets()) {
      for (const list of [ids, waiting]) {
        const times = list.map((id) => seenMs.get(id)!);
        assert.ok(times.every((time) => time !== undefined));
        assert.deepEqual(
          times,
          times.toSorted((a, b) => a - b),
        );
      }
    }
  });
});

test('routing table: a contact leaves a bucket only when it has failed, also in a split', () => {
  holds(({ table, before, failed }) => {
    const buckets = table.buckets();
    for (const { prefix, ids } of before) {
      const parts = buckets.filter((bucket) => isIn(bucket.prefix.bits, prefix));
      for (const id of ids) {
        if (failed.has(id)) continue;
        const places = parts.filter((part) => hasIdentifierIn(id, part.prefix));
        assert.ok(places.length > 0);
        for (const place of places) assert.ok(place.ids.includes(id), id);
      }
    }
  });
});

test('routing table: the closest are those of a search through all contacts', () => {
  holds(({ table, self, course: { key } }) => {
    const inBuckets = new Set(table.buckets().flatMap(({ ids }) => ids));
    assert.deepEqual(new Set(idsOf(table.contacts())), inBuckets);
    const nearest = (ids: Iterable<string>) =>
      [...ids].sort((a, b) => {
        const [x, y] = [a, b].map((id) => distanceTo(key, namedIdentifiers(contactOf(id))));
        if (x !== y) return x! < y! ? -1 : 1;
        return a < b ? -1 : 1;
      });
    assert.deepEqual(idsOf(table.closest(key, 7, false)), nearest(inBuckets).slice(0, 7));
    const withSelf = nearest([...inBuckets, self.id]).slice(0, 7);
    assert.deepEqual(idsOf(table.closest(key, 7, true)), withSelf);
  });
});

test('routing table: the sibling of an own subtree is not shown as empty while one of its agents lives', () => {
  let met = 0;
  holds(({ table, self, seenMs, course: { bucketSize, names } }) => {
    for (const sibling of siblings(self)) {
      const living = [...seenMs.keys()].filter((id) => hasIdentifierIn(id, sibling));
      const shown = table.contactsIn(sibling, 1);
      if (living.length > 0) {
        met++;
        assert.ok(!table.isEmpty(sibling));
        const all = names.filter((id) => hasIdentifierIn(id, sibling));
        // As many as have places: none can have been dropped.
        if (all.length <= 2 * bucketSize) assert.equal(shown.length, 1);
      } else {
        assert.equal(shown.length, 0);
      }
    }
  });
  assert.ok(met > 1000);
});

test('routing table: the contacts of a region are those with an identifier in it', () => {
  holds(({ table, course: { key } }) => {
    const region = prefixOf(key, 3);
    const expected = idsOf(table.contacts()).filter((id) => hasIdentifierIn(id, region));
    assert.deepEqual(new Set(idsOf(table.contactsIn(region, 99))), new Set(expected));
  });
});
