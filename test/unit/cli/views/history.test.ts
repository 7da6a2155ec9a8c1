import assert from 'node:assert/strict';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { historyOf } from '../../../../agent/cli/views/history.ts';
import { openState } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';

const ids = ['a1', 'a2', 'a3'];

/** The states of three agents, each of which has recorded that it joined. */
function crawl(t: TestContext): { config: ResolvedConfig; fileOf: (id: string) => string } {
  const dataDir = fs.mkdtempSync(join(tmpdir(), 'ubiring-history-'));
  t.after(() => fs.rmSync(dataDir, { recursive: true }));
  for (const id of ids) {
    const directory = join(dataDir, id);
    fs.mkdirSync(directory);
    const state = openState({ directory, crawl: 'c', agent: id });
    assert.ok(state.ok);
    const store = new SqliteStore(state.db, { durability: 'process', hostDelayMs: 1 });
    store.begin();
    store.event(1, 'join', { agent: id });
    store.commit(false);
    store.close();
    state.unlock();
  }
  const agents = ids.map((id) => ({ id, capacity: 1 }));
  const config = {
    ...{ file: 'crawl.yaml', unplaced: [], strangers: [], agent: { dataDir } },
    cluster: { agents, overlay: 'ring', replicas: 20, contacts: [] },
  } as unknown as ResolvedConfig;
  return { config, fileOf: (id) => join(dataDir, id, 'state.sqlite') };
}

test('history: names each state file that cannot be read, and shows the others', (t) => {
  const { config, fileOf } = crawl(t);
  assert.deepEqual(historyOf(config).problems, []);
  fs.writeFileSync(fileOf('a2'), 'x'.repeat(9000));
  // Its header and first tables are sound.
  const middle = fs.readFileSync(fileOf('a3'));
  middle.fill(0xff, 5 * 4096);
  fs.writeFileSync(fileOf('a3'), middle);
  const { changes, problems } = historyOf(config);
  assert.deepEqual(
    changes.map(({ id }) => id),
    ['a1'],
  );
  assert.deepEqual(
    problems.map(({ text }) => text.replace(/^.*\/(a\d)\/state\.sqlite (is \w+).*$/, '$1 $2')),
    ['a2 is damaged', 'a3 is damaged'],
  );
  for (const { remedy } of problems) assert.match(remedy, /^start the agent: .*; it sets the file/);
});
