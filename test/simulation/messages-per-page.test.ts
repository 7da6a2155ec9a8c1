// The messages that a cluster sends for a page, on virtual time, where their number does not depend
// on the machine. The tests fail when a change of the protocol raises the cost of a page, or its
// growth with the number of agents.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { simulate } from '../../bench/simulated-crawl.ts';
import { assertSparing, size } from './messages-per-page-stage.ts';

describe('messages per page', () => {
  it('messages: a single agent sends none', () => {
    assert.deepEqual(simulate({ ...size, agents: 1 }).all, { messages: 0, bytes: 0 });
  });

  it('messages: 2 agents send at most 2.6 messages and 1250 bytes for a page', () =>
    assertSparing(2, 2.6, 1_250));

  it('messages: 4 agents send at most 5.4 messages and 1750 bytes for a page', () =>
    assertSparing(4, 5.4, 1_750));
});
