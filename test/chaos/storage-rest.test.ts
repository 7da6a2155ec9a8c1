// State files that are damaged while their agent is dead: cut, flipped, emptied, or combined with
// the log of another moment. When it returns, the agent continues from the rest of a log, or sets
// the file aside and gets its hosts from the copies; no page is missing either way.
// test/unit/storage/file/database-damage.test.ts damages a file alone, many times.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe } from 'node:test';
import { type Cluster, fault, gated } from './harness.ts';
import { assertWhole } from './harness-verdict.ts';
import { type Damage, damages, overwrite, stateFile } from './state-damages.ts';
import { enlarge } from './storage-padding.ts';

/** Writes garbage before the agent begins and after the harness has read the file. */
function garbageFor(cluster: Cluster, id: string): { prefix: string[]; file: string } {
  const file = stateFile(cluster.dataDir, id);
  const line = `yes garbage | head -c 40000 > '${file}' && exec "$@"`;
  return { prefix: ['sh', '-c', line, 'sh'], file };
}

/** Pages that the dead agent had fetched or open may be requested again. */
const overlapMax = ({ threads }: Cluster) => 2 * threads;

describe('damaged state files', { concurrency: 2 }, () => {
  for (const { claim, aside, to } of Object.values<Damage>(damages)) {
    fault(`no page is missing after damage: ${claim}`, async (t, run) => {
      const web = { seed: run, pages: 20 };
      const { gate, cluster } = await gated(t, { agents: 3, web, delayMs: 120 });
      await cluster.startAll();
      await cluster.reaches(0.4);
      await cluster.kill('a2');
      to(stateFile(cluster.dataDir, 'a2'), run);
      await cluster.start('a2');
      if (aside) {
        // A new file, without previous joins.
        await cluster.event('a2', 'join', 'a2');
        await assertAside(cluster, 'a2');
      } else await cluster.joined('a2');
      gate.open();
      assertWhole(await cluster.finish(), { overlapMax: overlapMax(cluster) });
      assert.ok(cluster.state('a2').state().hosts.length > 0, 'its hosts returned');
    });
  }

  fault('a page of noise in a file too large for a complete check is found', async (t, run) => {
    const web = { seed: run, pages: 20 };
    const { gate, cluster } = await gated(t, { agents: 3, web, delayMs: 120 });
    await cluster.startAll();
    await cluster.reaches(0.3);
    await cluster.kill('a2');
    const file = stateFile(cluster.dataDir, 'a2');
    overwrite(file, await enlarge(file), 4096);
    const first = await cluster.start('a2');
    const { code, stderr } = await first.ended;
    assert.equal(code, 1, stderr);
    assert.match(stderr, /state\.sqlite is damaged .*start the agent again/);
    await cluster.start('a2');
    await cluster.event('a2', 'join', 'a2');
    await assertAside(cluster, 'a2');
    assert.ok(!fs.existsSync(path.join(path.dirname(file), 'state.suspect')), 'still suspected');
    gate.open();
    assertWhole(await cluster.finish(), { overlapMax: 2 * overlapMax(cluster) });
  });

  fault(
    'no page is missing after an older file is combined with the current log',
    async (t, run) => {
      const web = { seed: run, pages: 20 };
      const { gate, cluster } = await gated(t, { agents: 3, web, delayMs: 120 });
      await cluster.startAll();
      await cluster.reaches(0.2);
      const file = stateFile(cluster.dataDir, 'a2');
      fs.copyFileSync(file, `${file}.old`);
      await cluster.reaches(0.5);
      await cluster.kill('a2');
      fs.renameSync(`${file}.old`, file);
      await cluster.start('a2');
      await cluster.joined('a2');
      gate.open();
      assertWhole(await cluster.finish(), { overlapMax: overlapMax(cluster) });
    },
  );

  fault('no page is missing after the file became garbage', async (t, run) => {
    const web = { seed: run, pages: 20 };
    const { gate, cluster } = await gated(t, { agents: 3, web, delayMs: 120 });
    await cluster.startAll();
    await cluster.reaches(0.4);
    await cluster.kill('a2');
    await cluster.start('a2', { prefix: garbageFor(cluster, 'a2').prefix });
    await cluster.event('a2', 'join', 'a2');
    await assertAside(cluster, 'a2');
    gate.open();
    assertWhole(await cluster.finish(), { overlapMax: overlapMax(cluster) });
  });

  fault('an agent that is alone and has garbage as its state is refused', async (t, run) => {
    const { cluster } = await gated(t, { agents: 1, web: { seed: run } });
    await cluster.startAll();
    await cluster.reaches(0.3);
    await cluster.kill('a1');
    const { prefix, file } = garbageFor(cluster, 'a1');
    const again = cluster.launch('a1', { prefix });
    await cluster.until('a1 ends', () => again.end !== null);
    assert.equal(again.end?.code, 4, again.stderr);
    assert.match(again.stderr, /not a readable SQLite database.*starts from the seeds/);
    assert.ok(fs.readFileSync(file, 'utf8').startsWith('garbage\ngarbage'), 'it was changed');
  });
});

/** Asserts that the whole file was set aside, with a warning and an event. */
async function assertAside(cluster: Cluster, id: string): Promise<void> {
  const [event, ...more] = cluster.state(id).events('quarantine');
  assert.ok(event, 'it was set aside without an event, or not at all');
  assert.deepEqual(more, []);
  const names = fs.readdirSync(path.join(cluster.dataDir, id, String(event.detail.to)));
  assert.ok(names.includes('state.sqlite') || names.includes('state.sqlite-wal'), String(names));
  // The file may be read before the pipe.
  const warning = /moved to quarantine.*return from the agents/;
  await cluster.until('the warning is read', () => warning.test(cluster.run(id).stderr), 5000);
}
