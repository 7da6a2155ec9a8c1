import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import {
  bytesText,
  causeAndRemedy,
  cut,
  durationText,
  isScreen,
  printable,
  programName,
  renderTable,
} from '../../../../agent/cli/common/output.ts';

test('table: aligns columns with their titles, and numbers to the right', () => {
  const table = renderTable(
    [{ title: 'agent' }, { title: 'pages', align: 'right' }, { title: 'end' }],
    [
      ['a1', '7', 'complete'],
      ['agent-12', '1,234,567', ''],
    ],
  );
  assert.deepEqual(table.split('\n'), [
    'agent         pages  end',
    'a1                7  complete',
    'agent-12  1,234,567',
  ]);
});

test('table: without rows, prints only the titles', () => {
  assert.equal(renderTable([{ title: 'a' }, { title: 'b' }], []), 'a  b');
});

test('output: replaces control characters, which could control the terminal', () => {
  const hostile = 'x\u001b[2J\u0007\ny\u009b1m\u202ez\u2028';
  assert.equal(printable(hostile), 'x�[2J��y�1m�z�');
  assert.equal(renderTable([{ title: 'c' }], [['\u001b[31m']]), 'c\n�[31m');
  assert.equal(printable('grüße 漢字 😀'), 'grüße 漢字 😀');
});

test('output: cuts text that exceeds the width, and adds an ellipsis', () => {
  assert.equal(cut('abcdef', 6), 'abcdef');
  assert.equal(cut('abcdefg', 6), 'abcde…');
});

test('output: prints sizes and durations in readable units', () => {
  assert.deepEqual([0, 1023, 1024, 7.5 * 1024 ** 2].map(bytesText), [
    '0 B',
    '1023 B',
    '1.0 KiB',
    '7.5 MiB',
  ]);
  assert.deepEqual(
    [400, 59_400, 61_000, 3_600_000 + 5 * 60_000, 50 * 3_600_000].map(durationText),
    ['0 s', '59 s', '1 min 01 s', '1 h 05 min', '2 d 2 h'],
  );
});

test('output: names the next command the way this one was called', () => {
  const called = (npm_lifecycle_event?: string, npm_package_name?: string) =>
    programName({ npm_lifecycle_event, npm_package_name });
  assert.equal(called(), 'ubiring');
  assert.equal(called('ubiring', 'ubiring'), 'npm run -s ubiring --');
  assert.equal(called('start', 'ubiring'), 'npm run -s ubiring --');
  assert.equal(called('npx', 'their-site'), 'npx ubiring');
  assert.equal(called('npx'), 'npx ubiring');
  assert.equal(called('crawl', 'their-site'), 'npx ubiring');
});

test('output: redraws in place only for a person at a terminal that can', () => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true });
  assert.equal(isScreen(terminal, { TERM: 'xterm' }), true);
  assert.equal(isScreen(new PassThrough(), { TERM: 'xterm' }), false);
  assert.equal(isScreen(terminal, { TERM: 'dumb' }), false);
  for (const name of ['NO_COLOR', 'AI_AGENT', 'CLAUDECODE', 'CURSOR_AGENT']) {
    assert.equal(isScreen(terminal, { [name]: '1' }), false, name);
    assert.equal(isScreen(terminal, { [name]: '' }), true, `${name} is empty`);
  }
});

test('a failure is divided into its cause and its remedy', () => {
  for (const [messages, cause, remedy] of [
    [['c.yaml: does not exist; check the path'], 'c.yaml: does not exist', 'check the path'],
    [
      ['no state in data\nname the directory with --data'],
      'no state in data',
      'name the directory with --data',
    ],
    [
      ["error: missing 'sql'", '(--help shows options)'],
      "error: missing 'sql'",
      '(--help shows options)',
    ],
    [
      ['a1: silent', 'none answers; start one:\n  launch c.yaml'],
      'a1: silent\nnone answers',
      'start one:\n  launch c.yaml',
    ],
    [['no agent a9'], 'no agent a9', ''],
    [
      ['a1: no agent a9; see c', 'a2: no agent a9; see c', 'refused'],
      'a1: no agent a9\na2: no agent a9\nrefused',
      'see c',
    ],
    [['Error: odd\n    at f (/a/b.ts:1:2)\n  code: 7'], 'Error: odd', ''],
    [['Error: odd; see c\n    at f (/a/b.ts:1:2)'], 'Error: odd', 'see c'],
    [[], '', ''],
  ] as const) {
    assert.deepEqual(causeAndRemedy(messages), { cause, remedy }, messages.join());
  }
});
