import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withNewAgent } from '../../../../agent/cli/agent/new-agent.ts';
import type { Config } from '../../../../config/config.ts';

const listed = { id: 'a1', listen: 'tcp://h:1', address: 'tcp://h:1', capacity: 1 };
const configOf = (contacts: readonly string[], agents: Config['cluster']['agents'] = []) =>
  ({ cluster: { contacts, agents } }) as unknown as Config;

test('new agent: is added to the agents of the config', () => {
  const loaded = withNewAgent(configOf(['tcp://h:9'], [listed]), 'b', 'tcp://h:2');
  assert.ok(loaded.ok);
  const added = { id: 'b', listen: 'tcp://h:2', address: 'tcp://h:2', capacity: 1 };
  assert.deepEqual(loaded.config.cluster.agents, [listed, added]);
});

for (const [what, config, id, listen] of [
  ['without contacts', configOf([]), 'b', 'tcp://h:2'],
  ['that is in the config', configOf(['tcp://h:9'], [listed]), 'a1', 'tcp://h:2'],
  ['with an invalid name', configOf(['tcp://h:9']), 'a/b', 'tcp://h:2'],
  ['at all interfaces', configOf(['tcp://h:9']), 'b', 'tcp://0.0.0.0:2'],
] as const) {
  test(`new agent: an agent ${what} is refused`, () => {
    assert.deepEqual(withNewAgent(config, id, listen), { ok: false, code: 2 });
  });
}
