import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProgressMeter } from '../../../../agent/cli/launch/launch-progress.ts';
import {
  ProgressView,
  progressBlock,
  progressLine,
} from '../../../../agent/cli/launch/progress-view.ts';
import { agentStatus } from '../agent-status.ts';

test('progress view: clears the whole block, even after an echoed ^C', (t) => {
  const write = t.mock.method(process.stderr, 'write', () => true);
  const view = new ProgressView(true);
  view.show(new ProgressMeter(true).at(0, [{ alive: true, status: agentStatus({ id: 'a1' }) }]), 0);
  view.end();
  const [block, clear] = write.mock.calls.map(({ arguments: [text] }) => String(text));
  write.mock.restore();
  const lines = block!.split('\n').length - 1;
  // Moves to the first column and up over every line, and clears everything below.
  assert.equal(clear, `\r\u001b[${lines}A\u001b[J`);
});

test('progress view: says why hosts wait for robots.txt, for example without DNS', () => {
  const status = { ...agentStatus({ id: 'a1' }), hostsAwaitingRobots: 2, robotsWaitReason: 'dns' };
  const progress = new ProgressMeter(true).at(0, [{ alive: true, status }]);
  const why = /2 waiting for robots\.txt: dns, no address for the name/;
  assert.match(progressLine(progress), why);
  assert.match(progressBlock(progress).join('\n'), why);
});
