import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { Screen } from '../../../../agent/cli/top/screen.ts';
import type { Key } from '../../../../agent/cli/top/top-keys.ts';

const OPEN = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const CLOSE = '\u001b[?7h\u001b[?25h\u001b[?1049l';

const EMPTY = '\u001b[K\r\n';

function stage() {
  const before = process.rawListeners('exit');
  const raw: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (isRaw: boolean) => raw.push(isRaw),
  });
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 100, rows: 4 });
  const heard: unknown[] = [];
  const screen = new Screen(stdin, stdout, {
    onKey: ({ name }: Key) => heard.push(name),
    onResize: () => heard.push(screen.size),
    onEnd: () => heard.push('end'),
  });
  const written = () => String(stdout.read() ?? '');
  const exits = process.rawListeners('exit').filter((one) => !before.includes(one));
  return { screen, stdin, stdout, raw, heard, written, exits };
}

test('screen: opens, draws over the previous lines, the last at the bottom, and restores the terminal once', () => {
  const { screen, raw, written } = stage();
  assert.equal(written(), OPEN);
  screen.draw([{ text: 'ab', beside: '  c' }, { text: 'd' }]);
  assert.equal(written(), `\u001b[Hab  c${EMPTY}${EMPTY}${EMPTY}d\u001b[K\u001b[J`);
  screen.close();
  screen.close();
  screen.draw([{ text: 'late' }]);
  assert.equal(written(), CLOSE);
  assert.deepEqual(raw, [true, false]);
});

test('screen: hears keys, a resize and signals, and after its end nothing', async () => {
  const { screen, stdin, stdout, heard, exits } = stage();
  const type = async (text: string) => {
    stdin.write(text);
    await new Promise((done) => setImmediate(done));
  };
  await type('q\u001b[A');
  Object.assign(stdout, { columns: 200 }).emit('resize');
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.emit(signal);
  assert.deepEqual(heard, ['q', 'up', { columns: 200, rows: 4 }, 'end', 'end', 'end']);
  assert.ok(stdin.emit('error', new Error('the terminal was closed')));
  screen.close();
  assert.equal(process.listenerCount('SIGTERM'), 0);
  assert.ok(!process.rawListeners('exit').some((one) => exits.includes(one)));
  stdout.emit('resize');
  await type('p');
  assert.equal(heard.length, 6);
});

test('screen: an exit of the process, for example by an error, restores the terminal', () => {
  const { raw, written, exits } = stage();
  written();
  for (const restore of exits) restore.call(process, 1);
  assert.equal(written(), CLOSE);
  assert.equal(raw.at(-1), false);
});
