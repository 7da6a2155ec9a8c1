// How an owner announces its URLs to the other agents: which URLs the receivers then skip, how
// often it sends announcements, and which URLs it does not announce.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SeenFilter } from '../../../../agent/core/exchange/seen-filter.ts';
import { UrlAnnouncements } from '../../../../agent/core/exchange/url-announcements.ts';
import type { Outbound } from '../../../../agent/core/membership/outbound.ts';
import type { Member, View } from '../../../../agent/core/membership/view.ts';
import { BOUNDS } from '../../../../agent/core/protocol/bounds.ts';
import type { Message } from '../../../../agent/core/protocol/messages.ts';
import type { CoreSettings } from '../../../../agent/core/protocol/settings.ts';

type Known = Extract<Message, { type: 'KNOWN' }>;

const HEARTBEAT_MS = 100;
const A = 'http://a.test/';
const B = 'http://b.test/';
const at = (mono: number) => ({ mono, wall: mono });
const memberOf = (id: string) => ({ card: { id, inc: 1 } }) as Member;

/** Enough URLs to justify a message to each of two other agents. */
const ENOUGH = Array.from({ length: 16 }, (_, n) => `http://c.test/${n}`);

/** An agent with this many others in its view, and the messages that it sent. */
function agent(key: number, others = 2, bounds = BOUNDS) {
  const members = Array.from({ length: others }, (_, n) => memberOf(`m${n}`));
  const said: { to: string; message: Known; durable: boolean }[] = [];
  const seen = new SeenFilter(2 ** 10, key);
  const known = new UrlAnnouncements(
    { seenKey: key, heartbeatMs: HEARTBEAT_MS, bounds } as CoreSettings,
    { size: others, members: () => members.values() } as unknown as View,
    {
      toMember: ({ card }, message, options) => {
        said.push({ to: card.id, message: message as Known, durable: options?.durable ?? false });
      },
    } as Partial<Outbound> as Outbound,
    seen,
  );
  return { known, seen, said };
}

function told(urls: readonly string[], key = 11): Known {
  const { known, said } = agent(key);
  for (const url of [...urls, ...ENOUGH]) known.acknowledged(url);
  known.pump(at(0));
  return said[0]!.message;
}

describe('URL announcements', () => {
  it('announced URLs count as seen, at the root too, and no other URLs do', () => {
    const { known, seen } = agent(22);
    known.onAnnounced(memberOf('owner'), told([A, B]));
    const has = (url: string, owner?: string) => seen.has(url, true, owner);
    assert.deepEqual(
      [has(A, 'owner'), has(B, 'owner'), has(`${A}x`, 'owner')],
      [true, true, false],
    );
    assert.equal(seen.has(A, false, 'owner'), true);
  });

  it('an announcement counts for its owner only', () => {
    const { known, seen } = agent(22);
    known.onAnnounced(memberOf('owner'), told([A]));
    assert.deepEqual([seen.has(A, true, 'other'), seen.has(A, true)], [false, false]);
    known.onAnnounced(memberOf('other'), told([B], 33));
    assert.deepEqual([seen.has(A, true, 'other'), seen.has(A, true, 'owner')], [false, true]);
  });

  it('a new key of an owner voids the announcements of its previous process', () => {
    const { known, seen } = agent(22);
    known.onAnnounced(memberOf('owner'), told([A]));
    known.onAnnounced(memberOf('owner'), told([B], 12));
    assert.deepEqual([seen.has(A, true, 'owner'), seen.has(B, true, 'owner')], [false, true]);
  });

  it('a view change voids all announcements', () => {
    const { known, seen } = agent(22);
    known.onAnnounced(memberOf('owner'), told([A]));
    seen.clear();
    assert.equal(seen.has(A, true, 'owner'), false);
  });

  it('announces to all members at most once per heartbeat, after the commit', () => {
    const { known, said } = agent(1);
    for (const url of ENOUGH) known.acknowledged(url);
    known.pump(at(0));
    assert.deepEqual(
      said.map(({ to, durable }) => [to, durable]),
      [
        ['m0', true],
        ['m1', true],
      ],
    );
    for (const url of [...ENOUGH.slice(1), B]) known.acknowledged(url);
    known.pump(at(HEARTBEAT_MS - 1));
    assert.equal(said.length, 2);
    known.pump(at(HEARTBEAT_MS));
    known.pump(at(2 * HEARTBEAT_MS));
    assert.equal(said.length, 4);
    assert.notEqual(said[3]!.message.urls, said[0]!.message.urls);
  });

  it('waits until there are enough URLs for a message to each member', () => {
    const { known, said } = agent(1);
    for (const url of ENOUGH.slice(1)) known.acknowledged(url);
    known.pump(at(100 * HEARTBEAT_MS));
    assert.equal(said.length, 0);
    known.acknowledged(A);
    known.pump(at(100 * HEARTBEAT_MS));
    assert.equal(said.length, 2);
  });

  it('drops URLs that were not announced before a view change', () => {
    const { known, said } = agent(1);
    for (const url of ENOUGH) known.acknowledged(url);
    known.reset();
    known.acknowledged(A);
    known.pump(at(0));
    assert.equal(said.length, 0);
  });

  it('announces no more URLs than a message may hold', () => {
    const { known, seen, said } = agent(1, 2, { ...BOUNDS, knownUrls: 2 });
    for (const url of [A, B, `${A}x`]) known.acknowledged(url);
    known.pump(at(0));
    const listener = agent(2);
    listener.known.onAnnounced(memberOf('owner'), said[0]!.message);
    const has = (url: string) => listener.seen.has(url, true, 'owner');
    assert.deepEqual([has(A), has(B), has(`${A}x`)], [true, true, false]);
    assert.equal(seen.has(A, true), false);
  });

  it('announces nothing to a single other agent, or among very many', () => {
    for (const others of [1, BOUNDS.knownMembers + 1]) {
      const { known, said } = agent(1, others);
      for (let n = 0; n < 1000; n++) known.acknowledged(`${A}${n}`);
      known.pump(at(0));
      assert.equal(said.length, 0, `${others} others`);
    }
  });

  it('ignores bytes that are not whole hashes', () => {
    const { known, seen } = agent(1);
    known.onAnnounced(memberOf('owner'), { type: 'KNOWN', key: 5, urls: 'AAAA' });
    assert.equal(seen.has(A, true, 'owner'), false);
  });
});
