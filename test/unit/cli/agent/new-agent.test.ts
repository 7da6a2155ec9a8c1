import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withNewAgent } from '../../../../agent/cli/agent/new-agent.ts';
import type { Config } from '../../../../config/config.ts';

const listed = { id: 'a1', listen: 'tcp://h:1', address: 'tcp://h:1', capacity: 1 };
const configOf = (contacts: readonly string[], agents: Config['cluster']['agents'] = []) =>
  ({ cluster: { contacts, agents, kademlia: { ids: 64 } } }) as unknown as Config;
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

test('new agent: without its options the config stays as it is', () => {
  assert.deepEqual(withNewAgent(open, 'a1', {}), { ok: true, config: open });
});

const listen = 'tcp://h:2';
for (const [what, config, id, flags, why] of [
  ['without contacts', configOf([]), 'b', { listen }, /needs cluster\.contacts/],
  ['that is in the config', open, 'a1', { listen }, /leave out --listen/],
  ['with an invalid name', open, 'a/b', { listen }, /--id a\/b: .* is not an identifier/],
  ['at no endpoint', open, 'b', { listen: 'h:2' }, /--listen h:2: .*is not an endpoint/],
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
