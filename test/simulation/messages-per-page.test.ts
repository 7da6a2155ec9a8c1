// What a cluster sends for a page, on virtual time, where it is the same number on every machine: a
// change of the protocol that makes pages dearer, or dearer the more agents there are, shows here.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { simulate } from '../../bench/simulated-crawl.ts';
import { assertSparing, size } from './messages-per-page-stage.ts';

describe('messages per page', () => {
  it('messages: one agent alone sends none', () => {
    assert.deepEqual(simulate({ ...size, agents: 1 }).all, { messages: 0, bytes: 0 });
  });

  it('messages: 2 agents send no more than 2.6, 1250 bytes, a page', () =>
    assertSparing(2, 2.6, 1_250));

  it('messages: 4 agents send no more than 5.4, 1750 bytes, a page', () =>
    assertSparing(4, 5.4, 1_750));
});
