import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ControlVerb } from '../../../agent/core/protocol/messages.ts';
import {
  orderFromWord,
  orderOf,
  TAKEN_BACK,
  wordOfOrder,
} from '../../../agent/messaging/control-orders.ts';

test('control: commands mean orders', () => {
  assert.deepEqual(orderOf('pause', []), { kind: 'pause', host: '', value: 1 });
  assert.deepEqual(orderOf('resume', []), { kind: 'pause', host: '', value: null });
  assert.deepEqual(orderOf('block', ['h.test']), { kind: 'block', host: 'h.test', value: 1 });
  const back = { kind: 'block', host: '[::1]', value: null };
  assert.deepEqual(orderOf('block', ['[::1]', TAKEN_BACK]), back);
  const delay = { kind: 'delay', host: 'h.test' };
  assert.deepEqual(orderOf('delay', ['h.test', '0']), { ...delay, value: 0 });
  assert.deepEqual(orderOf('delay', ['h.test', '86400000']), { ...delay, value: 86_400_000 });
  assert.deepEqual(orderOf('delay', ['h.test', TAKEN_BACK]), { ...delay, value: null });
});

test('control: what is no order is refused in words', () => {
  const wrong: [ControlVerb, string[]][] = [
    ['block', []],
    ['block', ['H.test']],
    ['block', ['h.test:80']],
    ['block', ['h.test/x']],
    ['delay', ['h.test']],
    ['delay', ['h.test', '-1']],
    ['delay', ['h.test', '1.5']],
    ['delay', ['h.test', '86400001']],
    ['delay', ['h.test', '1e3']],
    ['status', []],
  ];
  for (const [verb, args] of wrong) {
    assert.equal(typeof orderOf(verb, args), 'string', `${verb} ${args}`);
  }
});

test('control: a stamped order passes as a word, and nothing else does', () => {
  const order = { kind: 'delay', host: 'h.test', value: 5, n: 7, by: 'a1' } as const;
  assert.deepEqual(orderFromWord(wordOfOrder(order)), order);
  const wrong = [
    '',
    '{',
    'null',
    '[]',
    '{}',
    wordOfOrder({ ...order, n: -1 }),
    wordOfOrder({ ...order, n: 2 ** 50 }),
    wordOfOrder({ ...order, value: 0.5 }),
    JSON.stringify({ ...order, more: 1 }),
    JSON.stringify({ ...order, kind: 'stop' }),
  ];
  for (const word of wrong) assert.equal(orderFromWord(word), null, word);
});

test('orders: what is taken here is taken by whoever hears of it', () => {
  for (const length of [1, 250, 300, 301, 2000]) {
    for (const [verb, value] of [
      ['block', 'on'],
      ['delay', '5'],
    ] as const) {
      const what = orderOf(verb, ['h'.repeat(length), value]);
      if (typeof what === 'string') assert.ok(length > 300, what);
      else assert.ok(orderFromWord(wordOfOrder({ ...what, n: 1, by: 'a1' })), `${length}`);
    }
  }
});
