// Whether the copies of a host are safe. Clusters of the simulator test the streams.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Replication } from '../../../../agent/core/replication/replication.ts';

type Parts = ConstructorParameters<typeof Replication>[0];

/** The replication of agent `me`, with one backup for each host. */
function replicationOf(order: readonly string[], nearest?: string) {
  const view = {
    assignment: () => ({ order: () => order }),
    owner: () => order[0],
    mayBeElsewhere: () => order.length === 0 && nearest !== undefined,
  };
  return new Replication({ settings: { id: 'me', backups: 1 }, view } as unknown as Parts);
}

describe('the copies of a host', () => {
  it('are safe without a backup, if this agent is the only one', () => {
    assert.equal(replicationOf(['me']).isSafe('h.example', 7), true);
  });

  it('are not safe at a backup that has acknowledged nothing', () => {
    assert.equal(replicationOf(['me', 'b']).isSafe('h.example', 7), false);
  });

  it('are not safe while the owner, and so the backups, are not known', () => {
    assert.equal(replicationOf([], 'b').isSafe('h.example', 7), false);
  });
});
