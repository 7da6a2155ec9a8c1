// Replays a crawl of the synthetic web by real processes from its archives. The archives must have
// each page byte for byte at the place that its row names, and also robots.txt, redirects and
// errors. The tests cover both compressions, and a change of compression between two launches.

import { test } from 'node:test';
import { assertReplayedWhole } from './archive-replay-stage.ts';

test('archive: a crawl is replayed byte for byte from gzip files', (t) =>
  assertReplayedWhole(t, 'gzip'));
