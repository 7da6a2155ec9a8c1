// Replays a crawl of the synthetic web by real processes from its archives, whose compression is
// changed between two launches, and replays the round that follows, which is in zstd. The archives
// must have each page byte for byte at the place that its row names, and also robots.txt, redirects
// and errors. `test/contract/archive-replay.test.ts` covers gzip.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { start, until } from '../../integration/cli-process.ts';
import { Replay } from '../../unit/archive/replay.ts';
import { agents, assertReplayed, launched, stage } from '../archive-replay-stage.ts';

test('archive: a crawl that was killed and resumed with another compression is replayed from both', async (t) => {
  const { web, scratch, config, pack } = await stage(t);
  pack('gzip');
  const first = start(['launch', config]);
  await until('some pages are fetched', () => web.requests().length > 80);
  for (const id of agents) process.kill(scratch.pid(id)!, 'SIGKILL');
  assert.equal((await first.ended).code, 11);
  pack('zstd');
  await launched(config);
  const killed = await Replay.of(scratch.dataDir);
  const count = await assertReplayed(killed, web, config);
  assert.ok(count.gz > 0 && count.zst > 0, JSON.stringify(count));

  // Revisit records of the next round refer to responses in files of both compressions.
  const requests = web.requests().length;
  await launched(config, '--refresh');
  const replay = await Replay.of(scratch.dataDir);
  const refreshed = await assertReplayed(replay, web, config);
  assert.equal(refreshed.gz, 0, 'every page has a new record, in zstd');
  assert.ok(replay.revisits >= count.gz, `${replay.revisits} revisits`);
  assert.equal(
    replay.uris.length - killed.uris.length,
    web.requests().length - requests,
    'the zstd files of the round have each answered request once',
  );
});
