// The slower test of the messages that a cluster sends for a page. The others are in
// `test/simulation/messages-per-page.test.ts`.
import { it } from 'node:test';
import { assertSparing } from '../messages-per-page-stage.ts';

it('messages: 8 agents send at most 7.2 messages and 2200 bytes for a page', () =>
  assertSparing(8, 7.2, 2_200));
