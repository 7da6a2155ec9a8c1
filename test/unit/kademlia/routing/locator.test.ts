// Look-ups of the owners of hosts: what is remembered, for how long, and whom to believe.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MemberCard } from '../../../../agent/core/protocol/messages.ts';
import { Locator } from '../../../../agent/kademlia/routing/locator.ts';
import { keyOf } from '../../../../assignment/identifiers.ts';
import { sha1 } from '../../assignment/sha1.ts';
import { contactOf, idsOf, namedIdentifiers } from '../contacts.ts';

const timeoutMs = 100;
const HOST = 'a.example';
const KEY = keyOf(HOST, sha1);

const cardOf = (id: string, inc = 1): MemberCard => ({ ...contactOf(id), inc });

function locatorOf(nearest: readonly string[]) {
  const starts = [...nearest];
  const reached: [string, string | null][] = [];
  const locator = new Locator({
    self: contactOf('self'),
    sha1,
    identifiersOf: namedIdentifiers,
    bucketSize: 4,
    concurrency: 2,
    timeoutMs,
    nearest: () => starts.map((id) => contactOf(id)),
    nearer: (_, found) => found,
    reached: (id, via) => reached.push([id, via?.id ?? null]),
  });
  /** Lets every asked agent answer with these names. */
  const run = (named: readonly string[] = [], inc = 1) => {
    const located: string[] = [];
    for (let i = 0; i < 10; i++) {
      const step = locator.pump(0);
      located.push(...step.located);
      for (const { to, key } of step.asks) {
        locator.answered(
          cardOf(to.id, inc),
          key,
          named.map((id) => cardOf(id, 0)),
        );
      }
    }
    return located;
  };
  return { locator, run, starts, reached };
}

describe('the owner of a host', () => {
  it('is looked for once, and known when the look-up has ended', () => {
    const { locator, run } = locatorOf(['1', '0']);
    assert.equal(locator.find(HOST), null);
    assert.equal(locator.find(HOST), null);
    assert.deepEqual(run(), [HOST]);
    const first = locator.find(HOST);
    assert.ok(first);
    assert.deepEqual(run(), []);
    assert.equal(locator.isQuiet, true);
  });

  it('is asked of the nearest agent, and of all near it only after a wrong result', () => {
    const { locator } = locatorOf(['00', '01', '10', '11']);
    const asked = () => {
      let count = 0;
      for (let i = 0; i < 10; i++) {
        for (const { to, key } of locator.pump(0).asks) {
          count++;
          locator.answered(cardOf(to.id), key, []);
        }
      }
      return count;
    };
    locator.find(HOST);
    assert.equal(asked(), 1);
    locator.forget(HOST);
    locator.find(HOST);
    assert.equal(asked(), 4);
    locator.refresh(KEY);
    assert.equal(asked(), 4);
    locator.nearest(KEY);
    assert.equal(asked(), 4);
  });

  it('is the nearest agent that answered, as it describes itself', () => {
    const { locator, run } = locatorOf(['1', '0']);
    locator.find(HOST);
    run([], 7);
    // The key of the host begins with this bit.
    const bit = (KEY >> 159n).toString();
    assert.deepEqual(locator.find(HOST), cardOf(bit, 7));
  });

  it('is looked for after another look-up of the same key', () => {
    const { locator } = locatorOf(['0', '1']);
    const turn = (now: number) => {
      locator.find(HOST);
      locator.nearest(KEY);
      for (const { to, key } of locator.pump(now).asks) {
        if (to.id === '1') locator.answered(cardOf('1'), key, []);
      }
    };
    for (let now = 0; now < 4 * timeoutMs; now += timeoutMs / 10) turn(now);
    assert.deepEqual([locator.find(HOST)?.id, locator.nearest(KEY)?.id], ['1', '1']);
  });

  it('is not a leaver, which may still lead a subtree', () => {
    const bit = (KEY >> 159n).toString();
    const other = bit === '1' ? '0' : '1';
    const found = (find: (locator: Locator) => MemberCard | null) => {
      const { locator } = locatorOf([bit]);
      find(locator);
      for (let i = 0; i < 10; i++) {
        for (const { to, key } of locator.pump(0).asks) {
          locator.answered(cardOf(to.id), key, [cardOf(other, 0)], to.id === bit);
        }
      }
      return find(locator)?.id;
    };
    assert.equal(
      found((locator) => locator.find(HOST)),
      other,
    );
    assert.equal(
      found((locator) => locator.nearest(KEY)),
      bit,
    );
  });

  it('is not a drained agent, which leads no subtree', () => {
    const bit = (KEY >> 159n).toString();
    const other = bit === '1' ? '0' : '1';
    const { locator } = locatorOf([bit]);
    const find = () => [locator.find(HOST)?.id, locator.nearest(KEY)?.id];
    for (let i = 0; i < 10; i++) {
      find();
      for (const { to, key } of locator.pump(0).asks) {
        const card = { ...cardOf(to.id), capacity: to.id === bit ? 0 : 1 };
        locator.answered(card, key, [cardOf(other, 0)]);
      }
    }
    assert.deepEqual(find(), [other, other]);
  });

  it('is not an agent that others name and that does not answer', () => {
    const { locator } = locatorOf(['1']);
    const near = KEY.toString(2).padStart(160, '0').slice(0, 20);
    locator.find(HOST);
    const answered = (id: string) => locator.answered(cardOf(id), KEY, [cardOf(near, 0)]);
    assert.deepEqual(idsOf(locator.pump(0).asks.map(({ to }) => to)), ['1']);
    answered('1');
    assert.deepEqual(idsOf(locator.pump(0).asks.map(({ to }) => to)), [near]);
    const { failed } = locator.pump(timeoutMs);
    assert.deepEqual(idsOf(failed), [near]);
    locator.pump(timeoutMs);
    assert.equal(locator.find(HOST)?.id, '1');
  });

  it('is after a wrong result also a member of another that does not answer itself', () => {
    const { locator, reached } = locatorOf(['1']);
    const bits = KEY.toString(2).padStart(160, '0');
    const [near, nearer] = [bits.slice(0, 20), bits.slice(0, 30)] as const;
    const search = (at: number) => {
      locator.find(HOST);
      locator.pump(at);
      // The nearest agent has not answered, so it may not be running.
      locator.answered(cardOf('1'), KEY, [cardOf(near, 5), cardOf(nearer, 0)]);
      for (const times of [0, 1, 1, 2, 2]) locator.pump(at + times * timeoutMs);
      return locator.find(HOST)?.id;
    };
    assert.equal(search(0), '1');
    locator.forget(HOST);
    assert.equal(search(10 * timeoutMs), near);
    assert.equal(locator.find(HOST)?.inc, 5);
    assert.deepEqual(reached, [
      ['1', null],
      [near, '1'],
    ]);
  });

  it('is looked for again after it was forgotten, because it moved or is not the owner', () => {
    const { locator, run, starts } = locatorOf(['1']);
    locator.find(HOST);
    run();
    locator.forget(HOST);
    starts[0] = '0';
    assert.equal(locator.find(HOST), null);
    assert.deepEqual(run([], 2), [HOST]);
    assert.deepEqual(locator.find(HOST), cardOf('0', 2));
  });

  it('stays unknown when nobody is known or nobody answers; a later search may find it', () => {
    const { locator, run, starts } = locatorOf([]);
    locator.find(HOST);
    assert.deepEqual(run(), []);
    assert.equal(locator.isQuiet, true);
    starts.push('1');
    locator.find(HOST);
    locator.pump(0);
    const { failed, located } = locator.pump(timeoutMs);
    assert.deepEqual([idsOf(failed), located], [['1'], []]);
    assert.equal(locator.isQuiet, true);
    assert.equal(locator.find(HOST), null);
    assert.deepEqual(run(), [HOST]);
  });

  it('is not believed from an agent that was not asked', () => {
    const { locator } = locatorOf(['1']);
    locator.answered(cardOf('0'), KEY, []);
    locator.find(HOST);
    locator.pump(0);
    locator.answered(cardOf('0'), KEY, []);
    assert.deepEqual(locator.pump(0).located, []);
    assert.equal(locator.find(HOST), null);
  });
});

describe('the agent nearest to a key', () => {
  it('is found and forgotten apart from hosts, and is not reported as a host', () => {
    const { locator, run } = locatorOf(['1']);
    assert.equal(locator.nearest(5n), null);
    assert.deepEqual(run(), []);
    assert.equal(locator.nearest(5n)?.id, '1');
    locator.forget('5');
    assert.equal(locator.nearest(5n)?.id, '1');
    locator.forgetNearest(5n);
    assert.equal(locator.nearest(5n), null);
  });
});

describe('limits', () => {
  it('sixteen look-ups run at a time, and the others wait', () => {
    const { locator, run } = locatorOf(['1']);
    for (let i = 0; i < 40; i++) locator.find(`h${i}`);
    assert.equal(locator.pump(0).asks.length, 16);
    assert.equal(locator.pump(0).asks.length, 0);
    locator.pump(timeoutMs);
    assert.equal(run().length, 24);
  });

  it('a host that was found while it waited is not looked for again', () => {
    const { locator } = locatorOf(['1']);
    locator.find(HOST);
    for (let i = 0; i < 15; i++) locator.find(`h${i}`);
    locator.pump(0);
    locator.find(HOST);
    locator.answered(cardOf('1'), KEY, []);
    assert.deepEqual(locator.pump(0).located, [HOST]);
    assert.deepEqual(locator.pump(0).asks, []);
  });

  it('more than 4,096 hosts do not wait; they are found when they are asked for again', () => {
    const { locator, run } = locatorOf(['1']);
    for (let i = 0; i < 5000; i++) locator.find(`h${i}`);
    let found = 0;
    while (!locator.isQuiet) found += run().length;
    assert.equal(found, 4096);
    locator.find('h4999');
    assert.deepEqual(run(), ['h4999']);
  });

  it('65,536 hosts are remembered, without those that were found first', () => {
    const { locator, run } = locatorOf(['1']);
    for (let i = 0; i < 65_537; ) {
      for (let more = 0; more < 4000 && i < 65_537; more++) locator.find(`h${i++}`);
      while (!locator.isQuiet) run();
    }
    assert.equal(locator.find('h0'), null);
    assert.ok(locator.find('h1'));
    assert.ok(locator.find('h65536'));
  });

  it('answers that were not asked for are not kept', () => {
    const { locator, run } = locatorOf(['1']);
    locator.find(HOST);
    locator.pump(0);
    for (let i = 0; i < 100; i++) locator.answered(cardOf('1', 9), BigInt(i), []);
    locator.answered(cardOf('1', 2), KEY, []);
    for (let i = 0; i < 100; i++) locator.answered(cardOf('1', 9), BigInt(i), []);
    run();
    assert.equal(locator.find(HOST)?.inc, 2);
  });

  it('nothing is left after a reset', () => {
    const { locator, run } = locatorOf(['1']);
    locator.find(HOST);
    run();
    locator.find('b.example');
    locator.pump(0);
    locator.find('c.example');
    locator.reset();
    assert.equal(locator.isQuiet, true);
    assert.equal(locator.find(HOST), null);
  });
});
