import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Hearsay } from '../../../../agent/kademlia/routing/hearsay.ts';

const contact = (id: string, address = `${id}:1`) => ({ id, capacity: 1, address });
const made = (max = 2) => new Hearsay({ max, everyMs: 10, waitMs: 50 });
const asked = (hearsay: Hearsay, now: number) => hearsay.due(now).asks.map((one) => one.address);

describe('agents that others named', () => {
  it('are asked once in an interval, until they are deleted', () => {
    const hearsay = made();
    hearsay.add(contact('a'), 0);
    assert.deepEqual(asked(hearsay, 0), ['a:1']);
    assert.deepEqual(asked(hearsay, 9), []);
    assert.deepEqual(asked(hearsay, 10), ['a:1']);
    hearsay.delete('a');
    assert.deepEqual(asked(hearsay, 20), []);
  });

  it('are forgotten when they have not answered in time, however often they are named', () => {
    const hearsay = made();
    for (let now = 0; now < 50; now += 10) hearsay.add(contact('a'), now);
    assert.equal(hearsay.has('a'), true);
    const { asks, expired } = hearsay.due(50);
    assert.deepEqual([asks, expired], [[], [contact('a')]]);
    assert.equal(hearsay.has('a'), false);
  });

  it('are asked at each address that was named, the latest first, up to four', () => {
    const hearsay = made();
    for (let i = 1; i <= 6; i++) hearsay.add(contact('a', `a:${i}`), 0);
    const addresses = [0, 10, 20, 30, 40].flatMap((now) => asked(hearsay, now));
    assert.deepEqual(addresses, ['a:4', 'a:3', 'a:2', 'a:1', 'a:4']);
    assert.equal(hearsay.size, 1);
  });

  it('are not remembered when there are too many, but known ones still are', () => {
    const hearsay = made();
    assert.deepEqual(
      ['a', 'b', 'c', 'a'].map((id) => hearsay.add(contact(id), 0)),
      [true, true, false, true],
    );
    assert.equal(hearsay.isFull, true);
    assert.deepEqual(
      [...hearsay.contacts()].map(({ id }) => id),
      ['a', 'b'],
    );
  });
});
