// What a cluster sends for a page, on virtual time, where it is the same number on every machine: a
// change of the protocol that makes pages dearer, or dearer the more agents there are, shows here.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { simulate } from '../../bench/simulated-crawl.ts';

const size = { hosts: 8, pages: 12, links: 4, backups: 1, seed: 1 };
/** URLs and rows, each with its answer, a fifth to a quarter above what is sent now. */
const bounds = [
  { agents: 2, messages: 2.6, bytes: 1_250 },
  { agents: 4, messages: 5.4, bytes: 1_750 },
  { agents: 8, messages: 7.2, bytes: 2_200 },
];

describe('messages per page', () => {
  it('messages: one agent alone sends none', () => {
    assert.deepEqual(simulate({ ...size, agents: 1 }).all, { messages: 0, bytes: 0 });
  });

  for (const { agents, messages, bytes } of bounds) {
    it(`messages: ${agents} agents send no more than ${messages}, ${bytes} bytes, a page`, () => {
      const { all } = simulate({ ...size, agents });
      assert.ok(all.messages <= messages && all.bytes <= bytes, JSON.stringify(all));
      assert.ok(all.messages > 1, 'links and rows must go to other agents');
    });
  }
});
