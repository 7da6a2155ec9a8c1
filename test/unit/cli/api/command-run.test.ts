// How many commands the API runs at the same time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CommandLine, CommandRuns } from '../../../../agent/cli/api/command-run.ts';
import { HttpProblem } from '../../../../agent/cli/http/http-problem.ts';

const source = { file: 'c.yaml', dataDir: 'data' };
const explain: CommandLine = { name: 'explain', args: ['http://a.test/'] };
const pause: CommandLine = { name: 'pause', args: [] };

test('many that explain URLs keep nobody from steering', async () => {
  const ends: (() => void)[] = [];
  const runs = new CommandRuns(source, (_, { name }) => {
    return new Promise((resolve) => ends.push(() => resolve(name)));
  });
  const asked = Array.from({ length: 3000 }, () => runs.run(explain));
  const settled = Promise.allSettled(asked);
  assert.equal(ends.length, 4);
  const steered = runs.run(pause);
  assert.equal(ends.length, 5);
  for (const end of ends) end();
  assert.equal(await steered, 'pause');
  const busy = (await settled).filter(({ status }) => status === 'rejected');
  assert.equal(busy.length, 2996);
  for (const one of busy as PromiseRejectedResult[]) {
    assert.ok(one.reason instanceof HttpProblem);
    const { status, code } = one.reason.document;
    assert.deepEqual([status, code], [503, 'command-busy']);
  }
});

test('a command that has failed makes room for the next one', async () => {
  let runs = 0;
  const failing = new CommandRuns(source, () => Promise.reject(new Error(`run ${++runs}`)));
  for (let n = 1; n <= 20; n++) await assert.rejects(failing.run(explain), { message: `run ${n}` });
});
