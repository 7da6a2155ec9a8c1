import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { redisPassword } from '../../../../agent/networks/redis/redis-password.ts';

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-password-'));
after(() => fs.rmSync(directory, { recursive: true, force: true }));

function fileWith(text: string): string {
  const file = path.join(fs.mkdtempSync(path.join(directory, 'd-')), 'password');
  fs.writeFileSync(file, text);
  return file;
}

test('password: none, or an empty one, is none', () => {
  assert.equal(redisPassword('berlin', {}), null);
  assert.equal(redisPassword('berlin', { DEDUP_PASSWORD_BERLIN: '' }), null);
  assert.equal(redisPassword('berlin', { DEDUP_PASSWORD_PARIS: 'x' }), null);
});

test('password: comes from the variable of its network as it is', () => {
  assert.equal(redisPassword('new-york', { DEDUP_PASSWORD_NEW_YORK: ' a b ' }), ' a b ');
});

test('password: comes from a file without the end of its line', () => {
  for (const [text, password] of [
    ['secret', 'secret'],
    ['secret\n', 'secret'],
    ['secret\r\n', 'secret'],
    [' a\nb \n', ' a\nb '],
  ] as const) {
    assert.equal(redisPassword('b', { DEDUP_PASSWORD_B_FILE: fileWith(text) }), password);
  }
});

test('password: a file that cannot be used is named, and its content is not', () => {
  const missing = path.join(directory, 'missing');
  const cases = [
    [missing, /^DEDUP_PASSWORD_B_FILE: .*missing does not exist$/],
    [directory, /is a directory$/],
    [fileWith('\n'), /is empty$/],
    [fileWith('s3cret'.repeat(1000)), /is larger than 4096 bytes$/],
  ] as const;
  for (const [file, message] of cases) {
    assert.throws(
      () => redisPassword('b', { DEDUP_PASSWORD_B_FILE: file }),
      (error: Error) => message.test(error.message) && !/s3cret/.test(error.message),
    );
  }
});

test('password: the variable and the file exclude each other', () => {
  const environment = { DEDUP_PASSWORD_B: 's3cret', DEDUP_PASSWORD_B_FILE: fileWith('other') };
  assert.throws(() => redisPassword('b', environment), {
    message: 'set DEDUP_PASSWORD_B or DEDUP_PASSWORD_B_FILE, not both',
  });
});
