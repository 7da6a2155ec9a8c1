import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { KeptAddresses } from '../../../../agent/storage/tables/kept-addresses.ts';

const KEY = "INSERT OR REPLACE INTO meta (key, value) VALUES ('addresses', ?)";

test('kept addresses: the last ones that were saved are read, in their order', () => {
  const db = openInMemory();
  assert.deepEqual(new KeptAddresses(db).read(), []);
  new KeptAddresses(db).save(['tcp://h:2', 'tcp://h:1']);
  new KeptAddresses(db).save(['tcp://h:3', 'tcp://[::1]:1']);
  assert.deepEqual(new KeptAddresses(db).read(), ['tcp://h:3', 'tcp://[::1]:1']);
});

for (const [what, text, left] of [
  ['no JSON', 'tcp://h:1', []],
  ['cut off', '["tcp://h:1', []],
  ['no list', '{"0":"tcp://h:1"}', []],
  ['a number', 7, []],
  ['bytes', Buffer.from('["tcp://'), []],
  [
    'a list with other values',
    '["ipc:///s","inproc://x",1,null,["tcp://h:2"],"tcp://*:1","tcp://h:0","tcp://h:1"]',
    ['tcp://h:1'],
  ],
] as const) {
  test(`kept addresses: of a value that is ${what}, only addresses are read`, () => {
    const db = openInMemory();
    db.prepare(KEY).run(text);
    assert.deepEqual(new KeptAddresses(db).read(), left);
  });
}

test('kept addresses: an agent cannot fill them with what is no address', () => {
  const db = openInMemory();
  new KeptAddresses(db).save(['ipc:///s', 'tcp://0.0.0.0:1', 'tcp://h:1', '']);
  const stored = db.prepare("SELECT value FROM meta WHERE key = 'addresses'").pluck().get();
  assert.equal(stored, '["tcp://h:1"]');
});
