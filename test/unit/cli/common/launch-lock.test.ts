import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { lockLaunch } from '../../../../agent/cli/common/launch-lock.ts';
import { lockDirectory } from '../../../../agent/storage/file/database.ts';
import { good, newDirectory, plain } from '../../config/written-config.ts';

const NOBODY = 65_534;
const skip = process.getuid?.() === 0 ? false : 'only root can act for another user';

/** A config whose data directory belongs to another user. */
function ofNobody() {
  const dataDir = path.join(newDirectory(), 'data');
  fs.mkdirSync(dataDir);
  for (const directory of [dataDir, path.dirname(dataDir), path.dirname(path.dirname(dataDir))]) {
    fs.chmodSync(directory, 0o755);
  }
  fs.chownSync(dataDir, NOBODY, NOBODY);
  return { dataDir, config: good(plain, { dataDir }) };
}

const ownerOf = (...names: string[]) => fs.statSync(path.join(...names)).uid;

test('what root locks, the owner of the data directory can lock afterwards', { skip }, () => {
  const { dataDir, config } = ofNobody();
  fs.writeFileSync(path.join(dataDir, 'launch.pid'), 'left by a process that was killed');
  const lock = lockLaunch(config);
  assert.ok(lock.ok);
  for (const name of ['launch.lock', 'launch.pid']) assert.equal(ownerOf(dataDir, name), NOBODY);
  lock.unlock();
  const directory = path.join(dataDir, 'a1');
  fs.mkdirSync(directory);
  fs.chownSync(directory, NOBODY, NOBODY);
  const ofAgent = lockDirectory(directory);
  assert.ok(ofAgent.ok);
  ofAgent.unlock();
  assert.equal(ownerOf(directory, 'agent.lock'), NOBODY);
});

test('a lock of another user is named with its owner', { skip }, () => {
  const { dataDir, config } = ofNobody();
  const file = path.join(dataDir, 'launch.lock');
  fs.writeFileSync(file, '', { mode: 0o600 });
  const nobody = path.resolve(import.meta.dirname, '../../../integration/as-nobody.ts');
  const flags = { monitor: false };
  const args = JSON.stringify([config.file, { ...flags, data: dataDir }]);
  fs.chmodSync(path.dirname(config.file), 0o755);
  const command = [nobody, 'launch/launch-command.ts', 'launch', args];
  const { status, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' });
  assert.equal(status, 4, stderr);
  const remedy = 'belongs to user 0; run the command as that user or as root';
  assert.equal(stderr, `permission missing: ${file} ${remedy}\n`);
});
