// The state of the cluster as all clients get it.

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { recordCompletion } from '../../../../agent/cli/state-files/completion-file.ts';
import { ClusterWatch } from '../../../../agent/cli/views/cluster-watch.ts';
import { openState } from '../../../../agent/storage/file/database.ts';
import { DirectiveTable } from '../../../../agent/storage/tables/directive-table.ts';
import { good, newDirectory, plain } from '../../config/written-config.ts';

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

test('after a command the state is asked for again, also while a question is open', async () => {
  const watch = new ClusterWatch(config);
  const number = async (asked: ReturnType<ClusterWatch['now']>) =>
    Number(/-(\d+)"$/.exec((await asked).tag)![1]);
  assert.deepEqual([await number(watch.now()), await number(watch.now())], [1, 1]);
  watch.outdated();
  const open = watch.now();
  const beside = watch.now();
  watch.outdated();
  const later = [watch.now(), watch.now()];
  const numbers = await Promise.all([open, beside, ...later].map(number));
  assert.deepEqual([...numbers, await number(watch.now())], [2, 2, 3, 3, 3]);
  const old = watch.now();
  watch.outdated();
  await old;
  assert.deepEqual(await Promise.all([watch.now(), watch.now()].map(number)), [4, 4]);
});

test('without agents, directives are in force, and no states of other machines are missing', async () => {
  const dataDir = join(newDirectory(), 'data');
  // No agent listens. No interface has the address 0.0.0.0, so a2 is on another machine.
  const agents = ['127.0.0.1', '0.0.0.0'].map((host, k) => {
    const address = `tcp://${host}:${k + 1}`;
    return { id: `a${k + 1}`, listen: address, address, capacity: 1 };
  });
  const written = good(`${plain}cluster: { agents: 1 }\n`, { dataDir });
  const here: ResolvedConfig = {
    ...{ ...written, file: 'c.json', unplaced: [], strangers: [] },
    cluster: { ...written.cluster, agents },
  };
  const state = openState({ directory: join(dataDir, 'a1'), crawl: here.name, agent: 'a1' });
  assert.ok(state.ok);
  const pause = { kind: 'pause', host: '', value: 1, n: 1, by: 'a1' } as const;
  new DirectiveTable(state.db).saveDirective(pause, 0);
  state.db.close();
  state.unlock();
  const watched = async () => (await new ClusterWatch(here).now()).view;
  const stopped = await watched();
  assert.deepEqual(
    stopped.orders?.map(({ kind, applied, missing }) => [kind, applied, missing]),
    [['pause', ['a1'], []]],
  );
  assert.match(String(stopped.problems[0]?.text), /^no agent answers: .*; the crawl is paused$/);
  recordCompletion(here, { at: 0, agents: ['a1', 'a2'] });
  const { complete, unsound, problems } = await watched();
  assert.deepEqual([complete?.agents, unsound, problems], [['a1', 'a2'], undefined, []]);
  rmSync(join(dataDir, 'a1', 'state.sqlite'));
  assert.deepEqual(
    (await watched()).unsound?.map(({ agent }) => agent),
    ['a1'],
  );
});
