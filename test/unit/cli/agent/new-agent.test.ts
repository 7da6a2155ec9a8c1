import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { noteNewAgent, withNewAgent } from '../../../../agent/cli/agent/new-agent.ts';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { openState } from '../../../../agent/storage/file/database.ts';
import { KeptAddresses } from '../../../../agent/storage/tables/kept-addresses.ts';
import type { Config } from '../../../../config/config.ts';

const listed = { id: 'a1', listen: 'tcp://h:1', address: 'tcp://h:1', capacity: 1 };
const configOf = (contacts: readonly string[], agents: Config['cluster']['agents'] = []) =>
  ({
    agent: { dataDir: 'none' },
    cluster: { contacts, agents, kademlia: { ids: 64 } },
  }) as unknown as Config;
const open = configOf(['tcp://h:9'], [listed]);

test('new agent: is added to the agents of the config', () => {
  const loaded = withNewAgent(open, 'b', { listen: 'tcp://h:2' });
  assert.ok(loaded.ok);
  const added = { id: 'b', listen: 'tcp://h:2', address: 'tcp://h:2', capacity: 1 };
  assert.deepEqual(loaded.config.cluster.agents, [listed, added]);
});

test('new agent: may listen on all interfaces, and have another capacity', () => {
  const flags = { listen: 'tcp://0.0.0.0:2', address: 'tcp://h:3', capacity: '2.5' };
  const loaded = withNewAgent(open, 'b', flags);
  assert.ok(loaded.ok);
  const added = { id: 'b', listen: 'tcp://0.0.0.0:2', address: 'tcp://h:3', capacity: 2.5 };
  assert.deepEqual(loaded.config.cluster.agents, [listed, added]);
});

test('new agent: listens at a restart where it listened before', (t) => {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-new-'));
  t.after(() => fs.rmSync(dataDir, { recursive: true, force: true }));
  for (const id of ['a1', 'b']) {
    fs.mkdirSync(path.join(dataDir, id));
    fs.writeFileSync(path.join(dataDir, id, 'agent.endpoint'), 'tcp://h:7\n');
  }
  const config = { ...open, agent: { dataDir } } as Config;
  const loaded = withNewAgent(config, 'b', { capacity: '2' });
  assert.ok(loaded.ok);
  const added = { id: 'b', listen: 'tcp://h:7', address: 'tcp://h:7', capacity: 2 };
  assert.deepEqual(loaded.config.cluster.agents, [listed, added]);
  assert.deepEqual(withNewAgent(config, 'a1', {}), { ok: true, config });
  assert.deepEqual(withNewAgent(config, 'c', {}), { ok: true, config });
  const moved = withNewAgent(config, 'b', { listen: 'tcp://h:8' });
  assert.ok(moved.ok && moved.config.added === 'b');
  const at = moved.config.cluster.agents as readonly { listen: string }[];
  assert.equal(at[1]!.listen, 'tcp://h:8');
});

test('new agent: without its options the config stays as it is', () => {
  assert.deepEqual(withNewAgent(open, 'a1', {}), { ok: true, config: open });
});

for (const [what, has, said] of [
  ['without a state', {}, 'b: joins when one of tcp://h:9 answers\n'],
  ['that has met no other', { addresses: [] }, 'b: joins when one of tcp://h:9 answers\n'],
  ['that knows other addresses', { addresses: ['tcp://h:1'] }, ''],
  ['that runs already', { addresses: [], runs: true }, ''],
  ['that is a contact', { listen: 'tcp://h:9' }, ''],
] as const) {
  const none: { addresses?: readonly string[] } = {};
  const { addresses, runs, listen } = { ...none, listen: 'tcp://h:2', runs: false, ...has };
  test(`new agent: one ${what} ${said === '' ? 'is not said to need' : 'needs'} a contact`, (t) => {
    const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-new-'));
    t.after(() => fs.rmSync(dataDir, { recursive: true, force: true }));
    if (addresses !== undefined) {
      const directory = path.join(dataDir, 'b');
      const opened = openState({ directory, crawl: 'c', agent: 'b' });
      assert.ok(opened.ok);
      new KeptAddresses(opened.db).save(addresses);
      opened.db.close();
      if (runs) t.after(opened.unlock);
      else opened.unlock();
    }
    const loaded = withNewAgent({ ...open, agent: { dataDir } } as Config, 'b', { listen });
    assert.ok(loaded.ok);
    let text = '';
    t.mock.method(process.stderr, 'write', (more: string) => {
      text += more;
      return true;
    });
    noteNewAgent(loaded.config as ResolvedConfig);
    t.mock.restoreAll();
    assert.equal(text, said);
  });
}

const listen = 'tcp://h:2';
for (const [what, config, id, flags, why] of [
  ['without contacts', configOf([]), 'b', { listen }, /needs cluster\.contacts/],
  ['that is in the config', open, 'a1', { listen }, /leave out --listen/],
  [
    'with an invalid name',
    open,
    'a/b',
    { listen },
    /--id a\/b: .* is not an identifier; write 1 to 64 letters, digits/,
  ],
  [
    'at no endpoint',
    open,
    'b',
    { listen: 'h:2' },
    /--listen h:2: .*is not an endpoint; write tcp:\/\/HOST:PORT/,
  ],
  [
    'at all interfaces without an address',
    ...[open, 'b', { listen: 'tcp://0.0.0.0:2' }],
    /add for example --address tcp:\/\/10\.0\.0\.5:2/,
  ],
  [
    'whose address is a wildcard',
    ...[open, 'b', { listen, address: 'tcp://*:2' }],
    /--address tcp:\/\/\*:2: is a wildcard/,
  ],
  ['without --listen', open, 'b', { address: 'tcp://h:3' }, /^--address needs --listen/],
  ['with a lone capacity', open, 'b', { capacity: '2' }, /^--capacity needs --listen/],
  ['of capacity 0', open, 'b', { listen, capacity: '0' }, /--capacity 0: must be above 0/],
  ['of no capacity', open, 'b', { listen, capacity: 'x' }, /--capacity x: must be above 0/],
  ['of too many identifiers', open, 'b', { listen, capacity: '129' }, /up to 128/],
] as const) {
  test(`new agent: an agent ${what} is refused with the reason`, (t) => {
    const said: string[] = [];
    t.mock.method(process.stderr, 'write', (text: string) => said.push(text));
    assert.deepEqual(withNewAgent(config, id, flags), { ok: false, code: 2 });
    t.mock.restoreAll();
    assert.match(said.join('').trim(), why);
  });
}
