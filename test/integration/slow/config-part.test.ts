// Commands that read or stop a crawl need only the data directory and the cluster part of the
// config. They work without the seed files and with errors in other parts of the config.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { run, Scratch, start, until } from '../cli-process.ts';
import { startGate } from '../gate-server.ts';

test('commands that read or stop a crawl need only the cluster part of the config', async (context) => {
  const scratch = new Scratch();
  const gate = await startGate();
  context.after(async () => {
    scratch.clean();
    await gate.stop();
  });
  const seedFile = scratch.write('seeds.txt', `${gate.seed}\n`);
  const config = await scratch.config(2, { seeds: [], seedFiles: ['seeds.txt'] });
  const launch = start(['launch', config]);
  await until('both agents', () => ['a1', 'a2'].every((id) => scratch.pid(id) !== null));
  fs.rmSync(seedFile);
  const broken = { ...JSON.parse(fs.readFileSync(config, 'utf8')), scope: { hosts: 7 }, typo: 1 };
  fs.writeFileSync(config, JSON.stringify(broken));
  for (const words of [
    ['status', config, '--json'],
    ['query', config, 'SELECT count(*) FROM frontier', '--json'],
    ['export', config],
    ['audit', config, '--json'],
    ['owner', config, 'example.org'],
    ['ring', config, '--json'],
    ['pause', config],
    ['resume', config],
    ['stop', config],
  ]) {
    const { code, stderr } = await run(...words);
    assert.equal(code, 0, `${words[0]}: ${stderr}`);
    assert.match(stderr, /problems in parts of .*crawl\.json that this command does not need/);
  }
  assert.equal((await launch.ended).code, 11);
  const refused = await run('launch', config);
  assert.equal(refused.code, 4, refused.stderr);
  assert.match(refused.stderr, /scope\.hosts[\s\S]*typo/);

  const wrongCluster = { ...broken, cluster: { agents: [{ id: 'a1' }] } };
  const other = scratch.write('other.json', wrongCluster);
  const status = await run('status', other);
  assert.equal(status.code, 4, status.stderr);
  assert.match(status.stderr, /cluster\.agents\[0\]\.listen/);
});
