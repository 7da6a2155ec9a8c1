// The agents record the completion of a crawl, no matter whether they were started by hand, by a
// service unit or by a launch that has ended.
// The slower of these tests; the others are in `test/integration/completion-by-hand.test.ts`.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { run, start, until } from '../cli-process.ts';
import { metEachOther, stage } from '../completion-by-hand-stage.ts';
import { startGate } from '../gate-server.ts';
import { makeQueuedState } from '../queued-state.ts';

/** A module that blocks the process before it writes the record, until `file` is deleted. */
function holdRecord(file: string): string {
  return `
    import fs from 'node:fs';
    const { renameSync } = fs;
    const pause = new Int32Array(new SharedArrayBuffer(4));
    fs.renameSync = (from, to) => {
      if (String(to).endsWith('complete.json')) {
        fs.writeFileSync(${JSON.stringify(file)}, '');
        while (fs.existsSync(${JSON.stringify(file)})) Atomics.wait(pause, 0, 0, 20);
      }
      renameSync(from, to);
    };
  `;
}

test('agents of a killed launch record that the crawl is complete', async (context) => {
  const { scratch, gate, config, note } = await stage(context, 1);
  const launch = start(['launch', config]);
  await until('a1', () => scratch.pid('a1') !== null);
  launch.child.kill('SIGKILL');
  gate.open();
  await until('the record', () => fs.existsSync(path.join(scratch.dataDir, 'complete.json')));
  assert.deepEqual(note().agents, ['a1']);
});

test('an agent started by hand names agents with queued URLs and records no completion without them', async (context) => {
  const { scratch, gate, config, note } = await stage(context, 2);
  gate.open();
  const later = await startGate();
  context.after(() => later.stop());
  makeQueuedState(scratch, 'a2', `${later.seed}more`);
  const alone = await run('agent', config, '--id', 'a1');
  assert.equal(alone.code, 11, alone.stderr);
  assert.match(alone.stderr, /^ {2}a2: 1 queued URL of 1 host \(127\.44\.0\.1\)$/m);
  assert.match(alone.stderr, /^then start this agent again:\n {2}ubiring agent .* --id a1$/m);
  assert.doesNotMatch(alone.stderr, /the crawl is complete/);
  const command = /^ {2}ubiring (agent .* --id a2)$/m.exec(alone.stderr)?.[1];
  assert.ok(command !== undefined, alone.stderr);
  assert.throws(note, /ENOENT/);
  // Its page is not answered until both agents have joined one cluster.
  const a2 = start(command.split(' '));
  await until('a2', () => /agent is listening/.test(a2.stderr()));

  // The same while a2 runs but is not in the view of a1.
  a2.child.kill('SIGSTOP');
  const unseen = await run('agent', config, '--id', 'a1');
  a2.child.kill('SIGCONT');
  assert.equal(unseen.code, 11, unseen.stderr);
  assert.throws(note, /ENOENT/);
  assert.match(unseen.stderr, /running agents still have\\n {2}a2: \d queued URL/);
  assert.doesNotMatch(unseen.stderr, /the crawl is complete/);

  const both = [start(['agent', config, '--id', 'a1']), a2];
  await metEachOther(config);
  later.open();
  for (const { code, stderr } of await Promise.all(both.map(({ ended }) => ended))) {
    assert.equal(code, 0, stderr);
  }
  assert.deepEqual(note().agents, ['a1', 'a2']);
  const sql = "SELECT count(*) AS n FROM pages WHERE url LIKE '%/more'";
  const { stdout } = await run('query', config, sql, '--json');
  assert.deepEqual(JSON.parse(stdout), [{ n: 1 }]);
});

test('an agent records completion before it releases its state, so --off is refused or removes the record', async (context) => {
  const { scratch, gate, config } = await stage(context, 1);
  const held = path.join(scratch.directory, 'held');
  const preload = scratch.write('hold.mjs', holdRecord(held));
  const agent = start(['agent', config, '--id', 'a1'], { NODE_OPTIONS: `--import=${preload}` });
  await until('the agent', () => scratch.pid('a1') !== null);
  assert.equal((await run('block', config, '*')).code, 0);
  gate.open();
  await until('the record to be written', () => fs.existsSync(held));
  const early = await run('block', config, '*', '--off');
  fs.rmSync(held);
  assert.equal((await agent.ended).code, 0);
  assert.notEqual(early.code, 0, `${early.stdout}${early.stderr}`);

  const off = await run('block', config, '*', '--off');
  assert.equal(off.code, 0, off.stderr);
  // As long as the skipped URLs have not been queued again, nothing says that the crawl is complete.
  assert.equal((await run('status', config)).code, 1);
  const { complete, skipped } = JSON.parse((await run('audit', config, '--json')).stdout);
  assert.deepEqual([complete, skipped], [false, { blocked: 1 }]);
  const again = await run('launch', config);
  assert.equal(again.code, 0, again.stderr);
  assert.doesNotMatch(again.stderr, /complete already/);
  const { stdout } = await run('query', config, 'SELECT status FROM pages', '--json');
  assert.deepEqual(JSON.parse(stdout), [{ status: 200 }]);
});
