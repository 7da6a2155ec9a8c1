// What a cluster sends for a page, on virtual time, where it is the same number on every machine: a
// change of the protocol that makes pages dearer, or dearer the more agents there are, shows here.
// The slower of these tests; the others are in `test/simulation/messages-per-page.test.ts`.
import { it } from 'node:test';
import { assertSparing } from '../messages-per-page-stage.ts';

it('messages: 8 agents send no more than 7.2, 2200 bytes, a page', () =>
  assertSparing(8, 7.2, 2_200));
