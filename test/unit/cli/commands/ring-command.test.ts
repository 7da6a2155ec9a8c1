import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ringReport, ringText } from '../../../../agent/cli/commands/ring-command.ts';
import type { Config } from '../../../../config/config.ts';

const configOf = (overlay: 'ring' | 'kademlia') =>
  ({
    cluster: {
      agents: [
        { id: 'a1', capacity: 1 },
        { id: 'a2', capacity: 2 },
      ],
      overlay,
      kademlia: { ids: 8 },
      replicas: 200,
    },
  }) as unknown as Config;

for (const [overlay, each, points] of [
  ['ring', { replicas: 200 }, [200, 400]],
  ['kademlia', { ids: 8 }, [8, 16]],
] as const) {
  test(`ring: shows the shares and places of the agents with the overlay ${overlay}`, () => {
    const { agents, balance: _, ...rest } = ringReport(configOf(overlay));
    assert.deepEqual(rest, { overlay, ...each });
    assert.deepEqual(
      agents.map((agent) => agent.points),
      points,
    );
    const total = agents.reduce((sum, { share }) => sum + share, 0);
    assert.ok(Math.abs(total - 1) < 1e-9, `${total}`);
    assert.ok(agents.every(({ share }) => share > 0));
  });
}

for (const overlay of ['ring', 'kademlia'] as const) {
  test(`ring: says that all agents are drained with the overlay ${overlay}`, () => {
    const config = { ...configOf(overlay), file: '/crawl.yaml' } as Config;
    const drained = ['a1', 'a2'].map((id) => ({ id, capacity: 0 }));
    const report = ringReport(config, drained);
    assert.equal(report.balance, null);
    assert.doesNotMatch(JSON.stringify(report.agents), /null/);
    const text = ringText(report, config);
    assert.match(
      text,
      /; all agents are drained, so none takes hosts; bring one back: .* undrain .*crawl\.yaml a1$/,
    );
    assert.doesNotMatch(text, /NaN|Infinity|█/);
  });
}
