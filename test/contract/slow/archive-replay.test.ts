// A crawl of the synthetic web by a cluster of real processes, replayed from its archives: each
// page comes out of them byte for byte as the server answers it, from the place that the page's
// row names; robots.txt, redirects and errors are there too; the index names every response. So it
// is with each way of packing, and where a crawl is gone on with in the other way.
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

test('archive: a crawl is replayed from it, byte for byte, packed with zstd', (t) =>
  assertReplayedWhole(t, 'zstd'));

test('archive: killed, and gone on with in the other packing, a crawl is replayed from both', async (t) => {
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

  // Revisits of the next round point across, to what is in files of either kind.
  pack('gzip');
  await launched(config, '--refresh');
  const replay = await Replay.of(scratch.dataDir);
  const refreshed = await assertReplayed(replay, web, config);
  assert.equal(refreshed.zst, 0, 'every page has its new record');
  assert.ok(replay.revisits >= count.zst, `${replay.revisits} revisits`);
});
