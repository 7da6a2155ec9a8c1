// A launch that cannot write its data directory. With numbered agents the launch first writes their
// ports there. Under /proc no directory can be made. The exit code distinguishes a full disk from a
// missing permission.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { SmallDisk } from '../chaos/storage-disks.ts';
import { run, Scratch } from './cli-process.ts';

const skip = fs.existsSync('/proc/self') ? false : 'the system has no /proc';

test('launch: ends with 4 at once if the data directory of numbered agents cannot be made', {
  skip,
}, async () => {
  const scratch = new Scratch();
  try {
    const cluster = { agents: 2 };
    const config = scratch.write('many.json', { seeds: ['http://127.0.0.1:1/'], cluster });
    const { code, stderr } = await run('launch', config, '--data', '/proc/ubiring');
    assert.equal(code, 4, stderr);
    assert.match(stderr, /cannot write in \/proc\/ubiring: .*--data/);
  } finally {
    scratch.clean();
  }
});

test('launch: ends with 3 and names the remedy if the data directory is on a full disk', async (t) => {
  const scratch = new Scratch();
  t.after(() => scratch.clean());
  const disk = SmallDisk.mount(t, scratch.dataDir, 64);
  if (typeof disk === 'string') return t.skip(disk);
  disk.fill();
  const numbered = scratch.write('many.json', {
    ...{ seeds: ['http://127.0.0.1:1/'], cluster: { agents: 2 }, agent: { dataDir: 'data' } },
  });
  for (const config of [numbered, await scratch.config(2)]) {
    const { code, stderr } = await run('launch', config);
    assert.equal(code, 3, stderr);
    assert.match(stderr, /disk full: .*; free some space there/);
  }
});
