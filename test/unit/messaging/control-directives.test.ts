import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ControlVerb } from '../../../agent/core/protocol/messages.ts';
import {
  directiveOf,
  directiveText,
  parseDirective,
  TAKEN_BACK,
} from '../../../agent/messaging/control-directives.ts';

test('control: commands are translated into directives', () => {
  assert.deepEqual(directiveOf('pause', []), { kind: 'pause', host: '', value: 1 });
  assert.deepEqual(directiveOf('resume', []), { kind: 'pause', host: '', value: null });
  assert.deepEqual(directiveOf('block', ['h.test']), { kind: 'block', host: 'h.test', value: 1 });
  const back = { kind: 'block', host: '[::1]', value: null };
  assert.deepEqual(directiveOf('block', ['[::1]', TAKEN_BACK]), back);
  const delay = { kind: 'delay', host: 'h.test' };
  assert.deepEqual(directiveOf('delay', ['h.test', '0']), { ...delay, value: 0 });
  assert.deepEqual(directiveOf('delay', ['h.test', '86400000']), { ...delay, value: 86_400_000 });
  assert.deepEqual(directiveOf('delay', ['h.test', TAKEN_BACK]), { ...delay, value: null });
  const threads = { kind: 'threads', host: 'a1' };
  assert.deepEqual(directiveOf('threads', ['a1', '4096']), { ...threads, value: 4096 });
  assert.deepEqual(directiveOf('threads', ['a1', TAKEN_BACK]), { ...threads, value: null });
  const drain = { kind: 'drain', host: 'a1' };
  assert.deepEqual(directiveOf('drain', ['a1']), { ...drain, value: 1 });
  assert.deepEqual(directiveOf('undrain', ['a1']), { ...drain, value: null });
  const capacity = { kind: 'capacity', host: 'a1', value: 0.25 };
  for (const text of ['0.25', '.25', '2.5e-1', '0.2500000000000000']) {
    assert.deepEqual(directiveOf('capacity', ['a1', text]), capacity, text);
  }
  // As the API writes a number.
  for (const value of [1 / 3, 1e-7]) {
    assert.deepEqual(directiveOf('capacity', ['a1', String(value)]), { ...capacity, value });
  }
});

test('control: invalid directives are refused with a text', () => {
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
    ['threads', ['a1']],
    ['threads', ['a1', '0']],
    ['threads', ['a1', '4097']],
    ['threads', ['a 1', '4']],
    ['threads', ['', '4']],
    ['threads', ['a1', '4.5']],
    ['capacity', ['a1', '0']],
    ['capacity', ['a1', '1001']],
    ['capacity', ['a1', '1e-99']],
    ['capacity', ['a1', '.']],
    ['capacity', ['a1', '1e']],
    ['capacity', ['*', '2']],
    ['drain', ['*']],
    ['undrain', []],
    ['status', []],
  ];
  for (const [verb, args] of wrong) {
    assert.equal(typeof directiveOf(verb, args), 'string', `${verb} ${args}`);
  }
});

test('control: a refusal names all agents as they are written', () => {
  assert.match(String(directiveOf('threads', ['*', '0'])), /^not valid: threads all 0; write/);
});

test('control: only a stamped directive is accepted as text', () => {
  const order = { kind: 'delay', host: 'h.test', value: 5, n: 7, by: 'a1' } as const;
  assert.deepEqual(parseDirective(directiveText(order)), order);
  const wrong = [
    '',
    '{',
    'null',
    '[]',
    '{}',
    directiveText({ ...order, n: -1 }),
    directiveText({ ...order, n: 2 ** 50 }),
    directiveText({ ...order, value: 0.5 }),
    directiveText({ ...order, kind: 'capacity', value: 0 }),
    JSON.stringify({ ...order, more: 1 }),
    JSON.stringify({ ...order, kind: 'stop' }),
  ];
  for (const word of wrong) assert.equal(parseDirective(word), null, word);
});

test('orders: a host that is accepted here is accepted by every receiver', () => {
  for (const length of [1, 250, 300, 301, 2000]) {
    for (const [verb, value] of [
      ['block', 'on'],
      ['delay', '5'],
    ] as const) {
      const what = directiveOf(verb, ['h'.repeat(length), value]);
      if (typeof what === 'string') assert.ok(length > 300, what);
      else assert.ok(parseDirective(directiveText({ ...what, n: 1, by: 'a1' })), `${length}`);
    }
  }
});
