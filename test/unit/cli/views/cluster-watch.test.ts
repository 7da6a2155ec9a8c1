// The state of the cluster as all clients get it.

import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { ClusterWatch } from '../../../../agent/cli/views/cluster-watch.ts';

const config = {
  ...{ name: 'c', file: 'c.json', unplaced: [], strangers: [] },
  cluster: { overlay: 'ring', agents: [], contacts: [], backups: 1, failureDetector: {} },
  agent: { dataDir: join(tmpdir(), 'ubiring-no-such-directory') },
} as unknown as ResolvedConfig;

test('the tag of a text differs from all tags of an earlier server', async () => {
  const tags = await Promise.all(
    [new ClusterWatch(config), new ClusterWatch(config)].map(
      async (watch) => (await watch.now()).tag,
    ),
  );
  assert.notEqual(tags[0], tags[1]);
  for (const tag of tags) assert.match(tag, /^"[\w-]+-1"$/);
});
