// Replays a crawl of the synthetic web by real processes from its archives. The archives must have
// each page byte for byte at the place that its row names, and also robots.txt, redirects and
// errors. `slow/archive-replay.test.ts` covers zstd, and a change of compression.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Replay } from '../unit/archive/replay.ts';
import { assertReplayed, launched, stage } from './archive-replay-stage.ts';

test('archive: a crawl is replayed byte for byte from gzip files', async (t) => {
  const { web, scratch, config, pack } = await stage(t);
  pack('gzip');
  await launched(config);
  const replay = await Replay.of(scratch.dataDir);
  const { zst } = await assertReplayed(replay, web, config);
  assert.equal(zst, 0);
  const requests = web.requests().length;
  assert.equal(replay.uris.length, requests, 'the archives have each answered request once');
});
