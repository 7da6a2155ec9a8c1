// Replays a crawl of the synthetic web by real processes from its archives. The archives must have
// each page byte for byte at the place that its row names, and also robots.txt, redirects and
// errors. The tests cover both compressions, and a change of compression between two launches.
// The slower of these tests; the others are in `test/contract/archive-replay.test.ts`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { start, until } from '../../integration/cli-process.ts';
import { Replay } from '../../unit/archive/replay.ts';
import {
  agents,
  assertReplayed,
  assertReplayedWhole,
  launched,
  stage,
} from '../archive-replay-stage.ts';

test('archive: a crawl is replayed byte for byte from zstd files', (t) =>
  assertReplayedWhole(t, 'zstd'));

test('archive: a crawl that was killed and resumed with another compression is replayed from both', async (t) => {
  const { web, scratch, config, pack } = await stage(t);
  pack('gzip');
  const first = start(['launch', config]);
  await until('some pages are fetched', () => web.requests().length > 80);
  for (const id of agents) process.kill(scratch.pid(id)!, 'SIGKILL');
  assert.equal((await first.ended).code, 11);
  pack('zstd');
  await launched(config);
  const count = await assertReplayed(await Replay.of(scratch.dataDir), web, config);
  assert.ok(count.gz > 0 && count.zst > 0, JSON.stringify(count));

  // Revisit records of the next round refer to responses in files of both compressions.
  pack('gzip');
  await launched(config, '--refresh');
  const replay = await Replay.of(scratch.dataDir);
  const refreshed = await assertReplayed(replay, web, config);
  assert.equal(refreshed.zst, 0, 'every page has a new record');
  assert.ok(replay.revisits >= count.zst, `${replay.revisits} revisits`);
});
