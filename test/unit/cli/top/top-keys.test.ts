import assert from 'node:assert/strict';
import { test } from 'node:test';
import { press, START } from '../../../../agent/cli/top/top-keys.ts';

/** Presses a key for each character of the text. */
function after(text: string, choice = START) {
  let pressed = { choice, action: null } as ReturnType<typeof press>;
  for (const sequence of text) {
    const names: Record<string, string> = {
      '\r': 'return',
      '\u007f': 'backspace',
      '\u001b': 'escape',
    };
    pressed = press(pressed.choice, { sequence, name: names[sequence] });
  }
  return pressed;
}

test('keys: q and Ctrl-C quit, p pauses, o asks for the dashboard', () => {
  assert.equal(after('q').action, 'quit');
  assert.equal(after('p').action, 'pause');
  assert.equal(after('o').action, 'dashboard');
  assert.equal(press(START, { name: 'c', ctrl: true, sequence: '\u0003' }).action, 'quit');
  assert.equal(after('x').action, null);
});

test('keys: h shows and hides the help, Esc hides it', () => {
  assert.equal(after('h').choice.isHelp, true);
  assert.equal(after('hh').choice.isHelp, false);
  assert.equal(after('h\u001b').choice.isHelp, false);
});

test('keys: / types a filter, in which letters are no commands; Enter keeps it, Esc clears it', () => {
  const typing = after('/qp');
  assert.deepEqual(typing, {
    choice: { filter: 'qp', isTyping: true, isHelp: false },
    action: null,
  });
  assert.deepEqual(after('/ab\u007fc\r').choice, { filter: 'ac', isTyping: false, isHelp: false });
  assert.deepEqual(after('/ab\u001b').choice, START);
  assert.deepEqual(after('/ab\r\u001b').choice, START);
  assert.equal(after('/ab\rq').action, 'quit');
  assert.equal(press(typing.choice, { name: 'c', ctrl: true }).action, 'quit');
});

test('keys: arrows and control characters are no text of a filter', () => {
  const { choice } = after('/a');
  for (const key of [
    { name: 'up', sequence: '\u001b[A' },
    { name: 'u', ctrl: true, sequence: '\u0015' },
    { name: 'tab', sequence: '\t' },
  ]) {
    assert.equal(press(choice, key).choice.filter, 'a', key.name);
  }
});
