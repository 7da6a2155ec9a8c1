// A crawl of the synthetic web by a cluster of real processes, replayed from its archives: each
// page comes out of them byte for byte as the server answers it, from the place that the page's
// row names; robots.txt, redirects and errors are there too; the index names every response. So it
// is with each way of packing, and where a crawl is gone on with in the other way.

import { test } from 'node:test';
import { assertReplayedWhole } from './archive-replay-stage.ts';

test('archive: a crawl is replayed from it, byte for byte, packed with gzip', (t) =>
  assertReplayedWhole(t, 'gzip'));
