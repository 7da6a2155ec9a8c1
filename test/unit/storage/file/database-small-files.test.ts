import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { lockDirectory } from '../../../../agent/storage/file/database.ts';

for (const name of ['agent.lock', 'agent.pid', 'agent.endpoint']) {
  test(`lock: a directory or a circular link in place of ${name} is reported with the remedy`, (t) => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-small-'));
    t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
    const file = path.join(directory, name);
    fs.mkdirSync(file);
    const found = lockDirectory(directory);
    assert.ok(!found.ok && found.code === 'corrupt');
    assert.equal(found.message, `${file} is not a regular file; delete it and start again`);
    fs.rmdirSync(file);
    fs.symlinkSync(name, file);
    const circle = lockDirectory(directory);
    assert.ok(!circle.ok);
    assert.equal(circle.message, `${file} is a symbolic link to itself; delete it and start again`);
    fs.rmSync(file);
    const lock = lockDirectory(directory);
    assert.ok(lock.ok);
    lock.unlock();
  });
}
