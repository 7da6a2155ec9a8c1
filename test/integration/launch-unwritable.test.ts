// Numbered agents have their ports kept in the data directory, which is then the first thing that a
// launch makes. Under /proc a parent exists in which nothing can be made. A disk without space is
// told from one without permission, whatever is written first.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { SmallDisk } from '../chaos/storage-disks.ts';
import { run, Scratch } from './cli-process.ts';

const skip = fs.existsSync('/proc/self') ? false : 'there is no /proc here';

test('launch: a number of agents on a directory that cannot be made is 4, at once', {
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

test('launch: a data directory on a full disk is 3, said once, with the remedy', async (t) => {
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
