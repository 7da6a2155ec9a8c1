// Tests that texts of unbounded length outside the cluster, which enter rows and lists, are limited
// where they are read to what messages allow. Otherwise a refused frame would be sent again without
// end.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seedReader } from '../../../../agent/composition/config-parts.ts';
import type { RowEvent, UrlItem } from '../../../../agent/core/protocol/messages.ts';
import { validateEnvelope } from '../../../../agent/messaging/checks/validate.ts';
import { splitIdentity, urlKey } from '../../../../agent/url/url-key.ts';
import { good } from '../../config/written-config.ts';

const config = good('seeds: [http://a/]\nscope: { hosts: ["*"] }\n');
const seedOf = seedReader(config);

/** Whether a backup accepts the row that a seed creates. */
function isTaken({ url, fetchUrl }: UrlItem): boolean {
  const { host } = splitIdentity(url)!;
  const known = { n: 1, key: urlKey(url, host), depth: 0, attempts: 0 };
  const found: RowEvent = { kind: 'found', ...known, ...(fetchUrl && { fetchUrl }) };
  const about = { from: 0, to: 1, version: 1, backoffMs: 0, delayMs: 0 };
  const rows = { type: 'ROWS', number: 1, items: [{ host, ...about, events: [found] }] };
  const ends = { from: { id: 'a', inc: 1 }, to: { id: 'b', inc: 1 } };
  return validateEnvelope({ ...ends, message: rows }).ok;
}

for (const [what, seed, isFine] of [
  ['the longest host', `http://${'h'.repeat(255)}/`, true],
  ['a longer host', `http://${'h'.repeat(301)}/`, false],
  ['the longest URL', `http://a/${'p'.repeat(7991)}`, true],
  ['the longest URL whose identity is another', `http://a/%61${'p'.repeat(7988)}`, true],
  ['a longer URL', `http://a/${'p'.repeat(8200)}`, false],
  ['a URL that is longer once escaped', `http://a/${'\u4e2d'.repeat(1000)}`, false],
] as const) {
  test(`wire: a seed with ${what} is ${isFine ? 'accepted by backups' : 'refused by its reader'}`, () => {
    const item = seedOf(seed);
    if ('refused' in item) assert.ok(!isFine, item.refused);
    else assert.ok(isFine && isTaken(item));
  });
}
