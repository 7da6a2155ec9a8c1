// Which rows of other agents are accepted, and how refused claims are recorded.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RefusedClaims } from '../../../../agent/core/membership/refused-claims.ts';
import type { Member } from '../../../../agent/core/membership/view.ts';
import type { RowEvent, RowsItem } from '../../../../agent/core/protocol/messages.ts';
import {
  RowsIntake,
  type RowsIntakeParts,
  wrongIn,
} from '../../../../agent/core/replication/rows-intake.ts';
import { splitIdentity } from '../../../../agent/url/url-key.ts';

const HOST = 'h.test';
const at = (mono: number) => ({ mono, wall: mono });
const hostOf = (url: string) => splitIdentity(url)?.host ?? null;
const FOUND = { kind: 'found', key: 'h/p', depth: 0, attempts: 0 } as const;
const AGAIN = { kind: 'again', key: 'h/p', round: 1, attempts: 0 } as const;
const ROBOTS = { kind: 'robots', answer: 'redirected', ageMs: 0, reason: '' } as const;
const HOPPED = { ...ROBOTS, n: 5, origin: 'http://h.test', hops: 1 };

function rows(event: RowEvent | null, more: Partial<RowsItem> = {}): RowsItem {
  const about = { version: 1, backoffMs: 0, delayMs: 0 };
  return { host: HOST, from: 4, to: 6, events: event ? [event] : [], ...about, ...more };
}

describe('rows of a peer', () => {
  const sound: readonly [string, RowsItem][] = [
    ['a query for the mark', rows(null, { from: 0, to: 0 })],
    ['a number within the range', rows({ ...FOUND, n: 5 })],
    ['the last number', rows({ ...FOUND, n: 6 })],
    ['a form of the same origin', rows({ ...FOUND, n: 5, fetchUrl: 'http://h.test/%70' })],
    ['a port of the host', rows({ ...HOPPED, location: 'https://h.test:8443/robots.txt' })],
    ['an IPv6 host', rows(null, { host: '[::1]' })],
    // The owner of that host is asked; no page of it is requested for this host.
    [
      'a redirect to another host',
      rows({ ...HOPPED, answer: 'unreachable', location: 'http://o/' }),
    ],
  ];
  for (const [what, item] of sound) {
    it(`are valid with ${what}`, () => assert.equal(wrongIn(item, hostOf), null));
  }

  const false_: readonly [string, RowsItem, RegExp][] = [
    ['a host in capitals', rows(null, { host: 'H.test' }), /not a canonical host/],
    ['a host with a path', rows(null, { host: 'h.test/x' }), /not a canonical host/],
    ['a host with a port', rows(null, { host: 'h.test:81' }), /not a canonical host/],
    ['a host with a user', rows(null, { host: 'u@h.test' }), /not a canonical host/],
    ['a range that goes back', rows(null, { from: 7, to: 6 }), /from 7 to 6/],
    ['a number below the range', rows({ ...FOUND, n: 3 }), /number 3, outside 4 to 6/],
    ['a number above the range', rows({ ...FOUND, n: 7 }), /number 7, outside 4 to 6/],
    ['a form of another host', rows({ ...FOUND, n: 5, fetchUrl: 'http://o.test/p' }), /o\.test/],
    [
      'a form of a host with the same prefix',
      rows({ ...FOUND, n: 5, fetchUrl: 'http://h.test.o/p' }),
      /h\.test\.o/,
    ],
    [
      'a form of another host in a later round',
      rows({ ...AGAIN, n: 5, fetchUrl: 'http://o.test/p' }),
      /o\.test/,
    ],
    ['a robots.txt of another host', rows({ ...HOPPED, origin: 'http://o.test' }), /o\.test/],
    [
      'a robots.txt redirect to another host',
      rows({ ...HOPPED, location: 'http://o.test/r' }),
      /o\.test/,
    ],
    [
      'a robots.txt redirect with a user',
      rows({ ...HOPPED, location: 'http://h.test@o.test/' }),
      /o\.test/,
    ],
  ];
  for (const [what, item, why] of false_) {
    it(`are refused with ${what}`, () => assert.match(wrongIn(item, hostOf) ?? '', why));
  }
});

describe('the intake of rows', () => {
  const member = (id: string, more: Partial<Member> = {}) =>
    ({ card: { id, inc: 1 }, joined: true, silent: false, unechoed: false, ...more }) as Member;

  /** The intake of agent `me`: the applied rows, its answers and its events. */
  function intakeOf(
    members: readonly Member[],
    order: readonly string[],
    listed: string[] = [],
    mark = 0,
  ) {
    const applied: RowsItem[] = [];
    const marks: number[] = [];
    const told: unknown[] = [];
    const intake = new RowsIntake({
      settings: { suspectAfterMs: 1000 },
      store: {
        applyRows: (_: string, item: RowsItem) => {
          applied.push(item);
          return { mark: item.to, changed: true };
        },
        markOf: () => mark,
        generation: () => 0,
      },
      view: {
        ...{ me: 'me', size: members.length, owns: () => order[0] === 'me' },
        get: (id: string) => members.find(({ card }) => card.id === id),
        assignment: () => ({ order: () => order }),
      },
      outbound: {
        toMember: (_: Member, { items }: { items: { mark: number }[] }) =>
          marks.push(...items.map(({ mark }) => mark)),
      },
      handOff: { isListedBy: (_: string, { card }: Member) => listed.includes(card.id) },
      hostOf,
      refused: new RefusedClaims({ record: (_, __, detail) => void told.push(detail.agent) }),
    } as unknown as RowsIntakeParts);
    const take = (from: Member, now = 5000) =>
      intake.onRows(from, { type: 'ROWS', number: 1, items: [rows({ ...FOUND, n: 5 })] }, at(now));
    return { intake, take, applied, marks, told };
  }

  it('accepts the rows of a host from its owner', () => {
    const { take, applied, marks } = intakeOf([member('b')], ['b', 'me']);
    assert.deepEqual(take(member('b')), [HOST]);
    assert.deepEqual([applied.length, marks], [1, [6]]);
  });

  it('accepts none from an agent that neither owns the host nor has listed it', () => {
    const { take, applied, marks } = intakeOf([member('b')], ['me', 'b']);
    assert.deepEqual(take(member('b')), []);
    assert.deepEqual({ applied, marks }, { applied: [], marks: [0] });
  });

  it('reports an agent that keeps sending such rows, not one whose list is late', () => {
    const { take, applied, told } = intakeOf([member('b')], ['me', 'b']);
    for (let now = 0; now < 3000; now += 500) take(member('b'), now);
    // After a pause the time is measured anew.
    for (let now = 5000; now < 8000; now += 500) take(member('b'), now);
    assert.deepEqual(told, []);
    take(member('b'), 8000);
    assert.deepEqual({ applied, told }, { applied: [], told: ['b'] });
  });

  it('neither accepts nor reports rows of a host whose preference list it does not know', () => {
    const { take, applied, told } = intakeOf([member('b')], []);
    for (let now = 0; now <= 8000; now += 500) take(member('b'), now);
    assert.deepEqual({ applied, told }, { applied: [], told: [] });
  });

  it('accepts the rows of a host that the sender has listed', () => {
    const { take, applied } = intakeOf([member('b')], ['me', 'b'], ['b']);
    take(member('b'));
    assert.equal(applied.length, 1);
  });

  it('accepts rows of the next agent if the owner may be dead or has not joined', () => {
    for (const more of [{ silent: true }, { unechoed: true }, { joined: false }]) {
      const { take, applied } = intakeOf([member('c', more), member('b')], ['c', 'b', 'me']);
      take(member('b'));
      assert.equal(applied.length, 1, JSON.stringify(more));
    }
  });

  it('continues to accept rows of a host from an agent whose rows it has', () => {
    const { take, applied } = intakeOf([member('b')], ['me', 'b'], [], 3);
    take(member('b'));
    assert.equal(applied.length, 1);
  });
});

describe('refused claims', () => {
  it('are counted one by one, and recorded only now and then', () => {
    const told: unknown[] = [];
    const refused = new RefusedClaims({ record: (_, __, { count }) => void told.push(count) });
    for (let k = 0; k < 100; k++) refused.refuse('b', 'rows', 'why', at(k));
    refused.refuse('b', 'rows', 'why', at(10_000));
    assert.deepEqual(told, [1, 101]);
    assert.deepEqual(refused.sums(), [{ agent: 'b', claim: 'rows', count: 101 }]);
  });

  it('are bounded for any number of agents', () => {
    let told = 0;
    const refused = new RefusedClaims({ record: () => void told++ });
    for (let k = 0; k < 5000; k++) refused.refuse(`b${k}`, 'hello', 'why', at(0));
    assert.deepEqual([told, refused.sums().length], [30, 1000]);
  });
});
