// Disks that fail under a running agent: full, read-only, broken, slow, or locked by another
// program. The agent ends with the exit code and message of docs/COMMANDS.md, or waits. The others
// continue, and when it returns, no page is missing.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { Cluster, type ClusterOptions, fault, gated } from './harness.ts';
import type { Ended } from './harness-process.ts';
import { assertWhole } from './harness-verdict.ts';
import { badDisk, SmallDisk } from './storage-disks.ts';

/** Enough for the whole state of a small crawl and its log. */
const diskKib = 16 * 1024;
const perCrash = ({ threads }: Cluster) => 2 * threads;

/** The exit of the agent, which must come soon after the disk failed. */
async function endOf(cluster: Cluster, id: string): Promise<Ended> {
  const run = cluster.run(id);
  await cluster.until(`${id} ends`, () => run.end !== null);
  return run.ended;
}

function launched(cluster: Cluster, id: string): Promise<Ended> {
  cluster.launch(id);
  return endOf(cluster, id);
}

/** Asserts that the message contains all that the person at the machine needs. */
function assertDiskFull({ code, stderr }: Ended, directory: string): void {
  assert.equal(code, 3, stderr);
  assert.match(stderr, /disk full.*KiB left.*free some space there and start the agent again/);
  assert.ok(stderr.includes(directory), stderr);
  assert.equal(stderr.split('disk full').length, 2, `the message appears once: ${stderr}`);
  assert.doesNotMatch(stderr, /"stack"/);
}

function mountFor(t: TestContext, cluster: Cluster, id: string): SmallDisk | null {
  const disk = SmallDisk.mount(t, path.join(cluster.dataDir, id), diskKib);
  if (typeof disk !== 'string') return disk;
  t.skip(disk);
  return null;
}

/** A crawl of some seconds that cannot end before the gate opens. */
function crawl(t: TestContext, seed: number, more: Partial<ClusterOptions> = {}) {
  return gated(t, { agents: 3, web: { seed, pages: 20 }, delayMs: 120, ...more });
}

describe('disks', { concurrency: 2 }, () => {
  // It waits longest, beside the others.
  fault('no agent is removed although each fsync takes a second', async (t, seed) => {
    const disk = badDisk(t);
    if (typeof disk === 'string') return t.skip(disk);
    const cluster = await Cluster.make(t, {
      ...{ agents: 3, web: { seed, hosts: 8, pages: 6 }, heartbeatMs: 500, suspectAfterMs: 5000 },
      config: { storage: { durability: 'power' } },
    });
    const env = disk.env({ fsyncMs: 1000 });
    await Promise.all(cluster.ids.map((id) => cluster.start(id, { env })));
    assertWhole(await cluster.finish());
    for (const id of cluster.ids) {
      for (const kind of ['suspect', 'rejoin']) {
        assert.deepEqual(cluster.state(id).events(kind), [], `${kind} at ${id}`);
      }
    }
  });

  fault('an agent with a full disk ends and later returns without a loss', async (t, seed) => {
    const { gate, cluster } = await crawl(t, seed);
    const disk = mountFor(t, cluster, 'a2');
    if (!disk) return;
    await cluster.startAll();
    await cluster.reaches(0.3);
    disk.fill();
    assertDiskFull(await endOf(cluster, 'a2'), path.join(cluster.dataDir, 'a2'));
    assert.ok(!fs.existsSync(path.join(cluster.dataDir, 'a2', 'agent.pid')), 'no PID file remains');
    cluster.launch('a2');
    assertDiskFull(await endOf(cluster, 'a2'), path.join(cluster.dataDir, 'a2'));
    assert.equal(cluster.state('a2').integrity(), 'ok');
    await cluster.event('a1', 'suspect', 'a2');
    disk.empty();
    await cluster.start('a2');
    await cluster.joined('a2');
    gate.open();
    assertWhole(await cluster.finish(), { overlapMax: perCrash(cluster) });
  });

  fault('an agent alone on a full disk stops, and continues with space', async (t, seed) => {
    const { gate, cluster } = await crawl(t, seed, { agents: 1 });
    const disk = mountFor(t, cluster, 'a1');
    if (!disk) return;
    await cluster.startAll();
    await cluster.reaches(0.3);
    disk.fill();
    assertDiskFull(await endOf(cluster, 'a1'), path.join(cluster.dataDir, 'a1'));
    const asked = cluster.web.requests().length;
    await pause(5 * cluster.delayMs);
    assert.equal(cluster.web.requests().length, asked, 'it continued to fetch');
    disk.empty();
    await cluster.start('a1');
    gate.open();
    assertWhole(await cluster.finish(), { overlapMax: perCrash(cluster) });
  });

  test('a disk that is full from the start leaves no partial state', async (t) => {
    const cluster = await Cluster.make(t, { agents: 1 });
    const disk = mountFor(t, cluster, 'a1');
    if (!disk) return;
    disk.fill();
    const { code, stderr } = await launched(cluster, 'a1');
    assert.equal(code, 3, stderr);
    assert.match(stderr, /disk full/);
    assert.ok(!fs.existsSync(path.join(disk.directory, 'state.sqlite')));
    disk.empty();
    await cluster.start('a1');
    assertWhole(await cluster.finish());
  });

  test('a read-only disk is refused, and the message names it', async (t) => {
    const { gate, cluster } = await crawl(t, 1);
    const disk = mountFor(t, cluster, 'a2');
    if (!disk) return;
    await cluster.startAll();
    await cluster.reaches(0.2);
    await cluster.kill('a2');
    disk.setReadOnly(true);
    const { code, stderr } = await launched(cluster, 'a2');
    assert.equal(code, 4, stderr);
    assert.ok(stderr.includes(path.join(cluster.dataDir, 'a2')), stderr);
    disk.setReadOnly(false);
    await cluster.start('a2');
    await cluster.joined('a2');
    gate.open();
    assertWhole(await cluster.finish(), { overlapMax: perCrash(cluster) });
  });

  fault('an agent whose disk breaks during the crawl ends and names the disk', async (t, seed) => {
    const disk = badDisk(t);
    if (typeof disk === 'string') return t.skip(disk);
    const { gate, cluster } = await crawl(t, seed);
    const trigger = path.join(path.dirname(cluster.dataDir), 'broken');
    await cluster.startAll(['a1', 'a3']);
    await cluster.start('a2', { env: disk.env({ failsWhen: trigger }) });
    await cluster.reaches(0.3);
    fs.writeFileSync(trigger, '');
    const { code, stderr } = await endOf(cluster, 'a2');
    assert.equal(code, 4, stderr);
    assert.match(stderr, /cannot read or write in .*a2.*look at the disk/);
    await cluster.event('a1', 'suspect', 'a2');
    await cluster.start('a2');
    await cluster.joined('a2');
    gate.open();
    assertWhole(await cluster.finish(), { overlapMax: perCrash(cluster) });
  });

  for (const [ms, what] of [
    [400, 'a moment, and no agent notices'],
    [4000, 'longer than the timeout, and the agent joins again'],
  ] as const) {
    fault(`another program locks the state for ${what}`, async (t, seed) => {
      const { gate, cluster } = await crawl(t, seed);
      await cluster.startAll();
      await cluster.reaches(0.2);
      const other = new Database(path.join(cluster.dataDir, 'a2', 'state.sqlite'));
      other.exec('BEGIN EXCLUSIVE');
      // The fault has a duration.
      await pause(ms);
      assert.equal(cluster.run('a2').end, null, cluster.run('a2').stderr);
      other.exec('ROLLBACK');
      other.close();
      const rejoins = () => cluster.state('a2').events('rejoin').length;
      if (ms > cluster.suspectAfterMs) await cluster.until('a2 joins again', () => rejoins() > 0);
      else assert.equal(rejoins(), 0);
      gate.open();
      assertWhole(await cluster.finish(), { overlapMax: perCrash(cluster) });
    });
  }
});
