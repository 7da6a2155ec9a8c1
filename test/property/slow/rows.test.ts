// Tests that copies of host state reach the same merged state, whatever the pieces in which rows
// are sent and the order of senders (PROTOCOL invariants I6 and I8). These are the slow tests; the
// others are in `test/property/rows.test.ts`.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { act, type Copy, counted, deeds, open, pieces, state, stream } from '../rows-stage.ts';

/** The last answers of pages that are requeued or have since been skipped. */
function formers({ db }: Copy): unknown[] {
  return db
    .prepare(
      `SELECT u.key, f.round, f.attempts, f.status, f.fetched_at
       FROM former_pages f JOIN urls u ON u.id = f.id ORDER BY u.key`,
    )
    .all();
}

function withoutDepth(copy: Copy): unknown[] {
  return state(copy).map((row) => ({ ...(row as object), depth: undefined }));
}

describe('rows', () => {
  it('a copy that has received all rows has the state of its source, in any pieces', () => {
    fc.assert(
      fc.property(deeds, deeds, pieces, (before, after, sizes) => {
        const [a, b] = [open(), open()];
        act(a, before);
        stream(a, 'a', b, sizes);
        act(a, after);
        stream(a, 'a', b, sizes);
        // If a shorter path to a queued URL is found later, only its owner updates the depth.
        assert.deepEqual(withoutDepth(b), withoutDepth(a));
        assert.deepEqual(formers(b), formers(a));
        counted(b);
      }),
      { numRuns: 60 },
    );
  });

  it('two sources merge to one state, in either order', () => {
    fc.assert(
      fc.property(deeds, deeds, pieces, (one, two, sizes) => {
        const [a, b, ab, ba] = [open(), open(), open(), open()];
        act(a, one);
        act(b, two);
        stream(a, 'a', ab, sizes);
        stream(b, 'b', ab, sizes);
        stream(b, 'b', ba, sizes);
        stream(a, 'a', ba, sizes);
        assert.deepEqual(state(ab), state(ba));
        counted(ab);
        counted(ba);
      }),
      {
        numRuns: 60,
        // A shorter path that one source has found in an earlier round than the other's.
        examples: [
          [
            [
              { kind: 'move', page: 0, form: 0, hops: 1 },
              { kind: 'find', page: 0, depth: 0 },
            ],
            [
              { kind: 'refresh', round: 1 },
              { kind: 'skip', page: 0 },
            ],
            [1],
          ],
        ],
      },
    );
  });
});
