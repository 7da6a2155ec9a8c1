import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { ProgressView } from '../../../../agent/cli/launch/progress-view.ts';
import { agentStatus } from '../agent-status.ts';
import { frameOf } from '../top/frame.ts';

const parts = {
  ...{ config: {} as ResolvedConfig, onStop: () => {}, dashboard: () => null },
  running: () => ['a1'],
};
const flags = { joined: true, leaving: false, relayed: false };
const frame = frameOf([agentStatus({ id: 'a1' })]);

/** What `act` writes to stderr. */
function writtenBy(t: TestContext, act: () => void): string[] {
  const write = t.mock.method(process.stderr, 'write', () => true);
  act();
  const texts = write.mock.calls.map(({ arguments: [text] }) => String(text));
  write.mock.restore();
  return texts;
}

test('progress view: clears the whole block, even after an echoed ^C', (t) => {
  const [block, clear] = writtenBy(t, () => {
    const view = new ProgressView(parts, true, false);
    view.show(frame, 0);
    view.end();
  });
  const lines = block!.split('\n').length - 1;
  // Moves to the first column and up over every line, and clears everything below.
  assert.equal(clear, `\r\u001b[${lines}A\u001b[J`);
});

test('progress view: the block fits above the cursor, and says how to stop without keys', (t) => {
  const many = Array.from({ length: 50 }, (_, k) => agentStatus({ id: `a${k + 1}` }));
  const [block] = writtenBy(t, () => new ProgressView(parts, true, false).show(frameOf(many), 0));
  const lines = block!.split('\n').slice(0, -1);
  assert.equal(lines.length, (process.stderr.rows || 24) - 1);
  assert.match(lines[0]!, /ubiring launch {2}example/);
  assert.match(lines.at(-1)!, /Ctrl-C stops the agents/);
});

test('progress view: draws nothing after its end, for example the answer to a late key', (t) => {
  const texts = writtenBy(t, () => {
    const view = new ProgressView(parts, true, false);
    view.end();
    view.show(frame, 0);
  });
  assert.deepEqual(texts, []);
});

test('progress view: without a terminal, prints a line every five seconds', (t) => {
  const texts = writtenBy(t, () => {
    const view = new ProgressView(parts, false, false);
    for (const now of [0, 500, 4999, 5000, 9999]) view.show(frame, now);
  });
  assert.deepEqual(texts, Array(2).fill('agents 1/1, hosts 0, pages 0 (0.0/s), queue 0\n'));
});

test('progress view: says that it counts only the agents that it started if there are others', (t) => {
  const members = ['a1', 'a2'].map((id) => {
    return { ...{ id, inc: 1, capacity: 1, address: '', silentMs: 0 }, ...flags };
  });
  const joined = frameOf([agentStatus({ id: 'a1', members })]);
  const [line] = writtenBy(t, () => new ProgressView(parts, false, false).show(joined, 0));
  assert.match(line!, /^of the agents started here: agents 1\/1, hosts 0, /);
  const all = { ...parts, running: () => ['a1', 'a2'] };
  const [plain] = writtenBy(t, () => new ProgressView(all, false, false).show(joined, 0));
  assert.match(plain!, /^agents 1\/1, /);
  // An agent of this launch was killed, and another process runs it again.
  const started = ['a1', 'a2'];
  const killed = { ...parts, running: () => started };
  const view = new ProgressView(killed, false, false);
  started.pop();
  const [later] = writtenBy(t, () => view.show(joined, 0));
  assert.match(later!, /^of the agents started here: /);
});
