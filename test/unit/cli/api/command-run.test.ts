// How many commands the API runs at the same time.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { type CommandLine, CommandRuns } from '../../../../agent/cli/api/command-run.ts';
import { HttpProblem } from '../../../../agent/cli/http/http-problem.ts';

const source = { file: 'c.yaml', dataDir: 'data', isDataGiven: false };
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

test('a cluster that does not run, as in a replay, has nothing to stop, on no machine', async (t) => {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-stop-'));
  t.after(() => fs.rmSync(dataDir, { recursive: true }));
  const file = path.join(dataDir, 'crawl.json');
  const cluster = { agents: [{ id: 'a1', listen: 'tcp://127.0.0.1:1' }] };
  fs.writeFileSync(file, JSON.stringify({ name: 'c', seeds: ['http://a.test/'], cluster }));
  const runs = new CommandRuns({ file, dataDir, isDataGiven: true });
  for (const args of [[], ['a1']]) {
    const refused = runs.run({ name: 'stop', args });
    const error = await refused.then(null, (reason: unknown) => reason);
    assert.ok(error instanceof HttpProblem);
    const { detail, remedy } = error.document;
    assert.match(String(detail), /no agent answers, and none runs on this machine$/);
    assert.equal(remedy, 'there is nothing to stop');
  }
  const resume = { name: 'resume', args: [] } as const;
  const unknown = await runs.run(resume).then(null, (reason: unknown) => reason);
  assert.ok(unknown instanceof HttpProblem);
  assert.match(unknown.document.detail, /: none answers, and no state in .* has it$/);
  // A directive is ended in the state files, so to run the command elsewhere would not help.
  fs.mkdirSync(path.join(dataDir, 'a1'));
  fs.writeFileSync(path.join(dataDir, 'a1', 'agent.lock'), '');
  for (const command of [resume, { name: 'undrain', args: ['a1'] }] as const) {
    const error = await runs.run(command).then(null, (reason: unknown) => reason);
    assert.ok(error instanceof HttpProblem);
    assert.equal(error.document.status, 409);
    assert.match(
      error.document.detail,
      /no agent accepted the directive: .* (in force|not paused)$/,
    );
    assert.equal(error.document.remedy, 'there is nothing to end');
  }
});
