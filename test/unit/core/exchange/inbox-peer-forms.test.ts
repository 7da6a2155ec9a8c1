// A URL form from a peer is requested under the fetch right, the delay and the robots.txt of the
// host of its identity. So a form of another origin is refused, in a batch of URLs and in a copy.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Inbox, type InboxParts } from '../../../../agent/core/exchange/inbox.ts';
import type { Member } from '../../../../agent/core/membership/view.ts';
import type {
  MemberCard,
  Message,
  RowEvent,
  UrlItem,
} from '../../../../agent/core/protocol/messages.ts';
import { validateEnvelope } from '../../../../agent/messaging/checks/validate.ts';
import { openInMemory } from '../../../../agent/storage/file/database.ts';
import { SqliteStore } from '../../../../agent/storage/sqlite-store.ts';
import { splitIdentity } from '../../../../agent/url/url-key.ts';

const HOST = 'a.test';
const PAGE = 'http://a.test/~u/';
const SAME_ORIGIN = ['http://a.test/%7Eu/', 'http://a.test/x?s=1'];
const ELSEWHERE = [
  'http://b.test/~u/',
  'https://a.test/~u/',
  'http://a.test:81/~u/',
  'http://a.test@b.test/~u/',
  'http://a.test.b.test/~u/',
  'http://a.test',
  'file:///etc/passwd',
];

/** The messages that answer a batch of one URL, and the number of recorded URLs. */
function answersTo(item: UrlItem): { types: string[]; recorded: number } {
  const types: string[] = [];
  let recorded = 0;
  const inbox = new Inbox({
    view: { owns: () => true, get: () => member },
    outbound: { toCard: (_: MemberCard, { type }: Message) => types.push(type) },
    copies: { isSafe: () => true },
    hostOf: (url: string) => splitIdentity(url)?.host ?? null,
    routing: { enqueue: () => ++recorded },
    known: { acknowledged: () => {}, reset: () => {} },
    refused: { refuse: () => {} },
  } as unknown as InboxParts);
  const member = { card: { id: 'a2', inc: 1 } } as Member;
  inbox.join();
  inbox.onUrls(member.card, { type: 'URLS', batch: 1, urls: [item] }, { mono: 0, wall: 0 });
  return { types, recorded };
}

test('peer forms: refuses a batch with a form of another origin', () => {
  for (const fetchUrl of SAME_ORIGIN) {
    const { types, recorded } = answersTo({ url: PAGE, fetchUrl, depth: 0 });
    assert.deepEqual({ types, recorded }, { types: ['URLS_ACK'], recorded: 1 }, fetchUrl);
  }
  for (const fetchUrl of ELSEWHERE) {
    const { types, recorded } = answersTo({ url: PAGE, fetchUrl, depth: 0 });
    assert.deepEqual({ types, recorded }, { types: ['BATCH_REFUSED'], recorded: 0 }, fetchUrl);
  }
});

test('peer forms: does not copy a row with a form of another origin', () => {
  const store = new SqliteStore(openInMemory(), { durability: 'process', hostDelayMs: 1 });
  const forms = [...ELSEWHERE, ...SAME_ORIGIN];
  const events = forms.map(
    (fetchUrl, k): RowEvent => ({
      ...{ kind: 'found', n: k + 1, key: `h/${k}`, depth: 0, attempts: 0, fetchUrl },
    }),
  );
  const about = { version: 1, backoffMs: 0, delayMs: 0 };
  store.begin();
  store.applyRows('a2', { host: HOST, from: 0, to: forms.length, events, ...about }, true, 0);
  store.commit(false);
  assert.equal(store.owned().queued, SAME_ORIGIN.length);
  assert.equal(store.nextUrl(store.host(HOST).number, 0)?.fetchUrl, SAME_ORIGIN[0]);
});

test('peer forms: refuses a key that names another host', () => {
  const detailOf = (key: string) => {
    const event = { kind: 'found', n: 1, key, depth: 0, attempts: 0 };
    const item = { host: HOST, from: 0, to: 1, events: [event], version: 1, backoffMs: 0 };
    const message = { type: 'ROWS', number: 1, items: [{ ...item, delayMs: 0 }] };
    const ends = { from: { id: 'a1', inc: 5 }, to: { id: 'a2', inc: 6 } };
    const checked = validateEnvelope({ ...ends, message });
    return checked.ok ? 'ok' : checked.detail;
  };
  for (const key of ['h/', 's/x?y', 'h:81/', 'h./x']) assert.equal(detailOf(key), 'ok', key);
  for (const key of ['h@b.test/', 'h.b.test/', 'h:pass@b.test/', 'x/', '/']) {
    assert.match(detailOf(key), /not the key of a URL/, key);
  }
});
