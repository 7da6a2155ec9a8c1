// Copies of host state: whatever is streamed, in whatever pieces and order of senders, ends in the
// same merged state (PROTOCOL invariants I6 and I8).
// The slower of these tests; the others are in `test/property/rows.test.ts`.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { act, counted, deeds, open, pieces, state, stream } from '../rows-stage.ts';

describe('rows', () => {
  it('two sources merge to one state, whichever comes first', () => {
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
      { numRuns: 60 },
    );
  });
});
