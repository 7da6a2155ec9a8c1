// Late copies of lists: when they count, and when an agent may still wait for parts.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { keyOf, ReceivedLists } from '../../../../agent/core/hand-off/received-lists.ts';
import type { Member } from '../../../../agent/core/membership/view.ts';

const member = (id: string, inc = 1) => ({ card: { id, inc } }) as Member;
const b = member('b');

describe('received lists', () => {
  it('expect the parts of each list in turn', () => {
    const lists = new ReceivedLists();
    assert.equal(lists.expected(b, 7), 0);
    lists.take(b, { list: 7, part: 0, last: false });
    assert.equal(lists.expected(b, 7), 1);
    assert.equal(lists.expected(b, 8), 0);
    assert.ok(lists.has(keyOf(b, 7)));
    assert.ok(lists.isOpen('b'));
    lists.take(b, { list: 7, part: 1, last: true });
    assert.equal(lists.isOpen('b'), false);
  });

  it('expect no part of a list that arrived before the member was parted from', () => {
    const lists = new ReceivedLists();
    lists.take(b, { list: 7, part: 0, last: true });
    lists.forget('b');
    assert.equal(lists.has(keyOf(b, 7)), false);
    for (const list of [6, 7]) assert.equal(lists.expected(b, list), Infinity);
    assert.equal(lists.expected(b, 8), 0);
    assert.equal(lists.expected(member('b', 2), 7), 0, 'of another incarnation');
    assert.equal(lists.expected(member('c'), 7), 0);
  });
});
