// The table at the end of a launch.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { it } from 'node:test';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { endOf, launchSummary } from '../../../../agent/cli/launch/launch-summary.ts';
import { openState } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';

it('an agent that was started again by hand has the end of its last run', () => {
  const left = { kind: 'left', reason: '' } as const;
  const killed = { kind: 'killed', signal: 'SIGKILL' } as const;
  assert.equal(endOf(left, 'complete'), 'complete');
  assert.equal(endOf(killed, 'complete'), 'complete');
  assert.equal(endOf(left, 'left'), 'left');
  assert.match(endOf(killed, null), /killed/);
  assert.equal(endOf(null, null), 'not of this launch');
});

for (const [hosts, said] of [
  [['x.test'], '1 host could not be reached or was abandoned'],
  [['x.test', 'y.test'], '2 hosts could not be reached or were abandoned'],
] as const) {
  it(`hosts without an answer are counted: ${said}`, (t) => {
    const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-summary-'));
    t.after(() => fs.rmSync(dataDir, { recursive: true, force: true }));
    const opened = openState({ directory: path.join(dataDir, 'a1'), crawl: 'c', agent: 'a1' });
    assert.ok(opened.ok);
    const store = new SqliteStore(opened.db, { durability: 'process', hostDelayMs: 1 });
    store.begin();
    for (const host of hosts) {
      const url = `http://${host}/`;
      store.enqueue(host, { url, depth: 0 }, null);
      store.recordPage(store.host(host).number, {
        ...{ url, status: null, error: 'connect_refused', contentType: null, bytes: 0 },
        ...{ digest: null, fetchedAt: 1, durationMs: 1, redirectTo: null, attempts: 4 },
      });
    }
    store.commit(true);
    store.close();
    opened.unlock();
    const config = {
      name: 'c',
      agent: { dataDir },
      cluster: { overlay: 'ring', replicas: 1, backups: 1, agents: [{ id: 'a1', capacity: 1 }] },
    } as unknown as ResolvedConfig;
    assert.ok(launchSummary(config, [], 1000).includes(`\n${said}\n`));
  });
}
