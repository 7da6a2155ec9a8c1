// Tests that no spelling of a forbidden address is requested. The test draws an address as a
// number, mostly at the edges of registered ranges, decides by arithmetic whether it is allowed,
// and writes it in any form that the URL Standard, a resolver or a socket accepts. Every step of
// the crawler from text to verdict must agree.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { serverKey } from '../../agent/fetch/address/address-choice.ts';
import { AddressGuard } from '../../agent/fetch/address/address-guard.ts';
import { checkAddress } from '../../agent/fetch/address/check-address.ts';
import { parseCrawlUrl } from '../../agent/url/crawl-url.ts';

const guard = new AddressGuard({ allowPrivate: false });

/**
 * First 32 bits and prefix length of the ranges that IANA's registry and RFC 5771 exclude from
 * public use, and the address of Azure's host.
 */
const V4: readonly (readonly [number, number])[] = [
  [0x00000000, 8],
  [0x0a000000, 8],
  [0x64400000, 10],
  [0x7f000000, 8],
  [0xa83f8110, 32],
  [0xa9fe0000, 16],
  [0xac100000, 12],
  [0xc0000000, 24],
  [0xc0000200, 24],
  [0xc0586300, 24],
  [0xc0a80000, 16],
  [0xc6120000, 15],
  [0xc6336400, 24],
  [0xcb007100, 24],
  [0xe0000000, 4],
  [0xf0000000, 4],
];

const v4Refused = (address: number) =>
  V4.some(([first, length]) => Math.floor((address - first) / 2 ** (32 - length)) === 0);

/** First 32 bits and prefix length of the ranges within 2000::/3 that are not public. */
const V6: readonly (readonly [number, number])[] = [
  [0x20010000, 23],
  [0x20010db8, 32],
  [0x20020000, 16],
  [0x3fff0000, 20],
];

/** The eight groups of an IPv6 address. */
type Groups = readonly number[];

function v6Refused(groups: Groups): boolean {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  const low = g * 65_536 + h;
  if ((a | b | c | d | e) === 0 && f === 0xffff) return v4Refused(low);
  if (a === 0x64 && b === 0xff9b && (c | d | e | f) === 0) return v4Refused(low);
  if (a >>> 13 !== 1) return true;
  const high = a * 65_536 + b;
  return V6.some(([first, length]) => Math.floor((high - first) / 2 ** (32 - length)) === 0);
}

const anyV4 = fc.oneof(
  fc.nat(0xffffffff),
  fc
    .tuple(
      fc.constantFrom(...V4),
      fc.constantFrom('first', 'last'),
      fc.integer({ min: -2, max: 2 }),
    )
    .map(([[first, length], end, by]) => {
      const edge = end === 'first' ? first : first + 2 ** (32 - length) - 1;
      return Math.min(0xffffffff, Math.max(0, edge + by));
    }),
);

const group = fc.oneof(fc.constant(0), fc.constant(0xffff), fc.nat(0xffff));
const first = fc.oneof(
  ...[0x2000, 0x2001, 0x2002, 0x1fff, 0x3fff, 0x3ffe, 0x4000, 0xfc00, 0xfe80, 0xff02, 0x64].map(
    (a) => fc.constant(a),
  ),
  group,
);
const second = fc.oneof(group, fc.constantFrom(0x1ff, 0x200, 0xdb8, 0xdb7, 0xdb9, 0xfff, 0x1000));
const anyV6: fc.Arbitrary<Groups> = fc.oneof(
  fc.tuple(first, second, group, group, group, group, group, group),
  fc
    .tuple(
      fc.constantFrom<Groups>(
        [0, 0, 0, 0, 0, 0xffff],
        [0x64, 0xff9b, 0, 0, 0, 0],
        [0x64, 0xff9b, 1, 0, 0, 0],
        [0, 0, 0, 0, 0xffff, 0],
        [0, 0, 0, 0, 0, 0],
        [0x2002, 0, 0, 0, 0, 0],
      ),
      anyV4,
    )
    .map(([prefix, low]) => [...prefix, low >>> 16, low & 0xffff]),
);

// ---- spellings

const radix = fc.constantFrom(10, 16, 8);
const zeros = fc.nat(3);

interface V4Spelling {
  readonly parts: number;
  readonly radixes: readonly number[];
  readonly zeros: number;
  readonly upper: boolean;
  readonly dress: string;
}

/** One to four numbers, each in its own base; the last one contains all remaining bytes. */
const v4Spelling: fc.Arbitrary<V4Spelling> = fc.record({
  parts: fc.integer({ min: 1, max: 4 }),
  radixes: fc.tuple(radix, radix, radix, radix),
  zeros,
  upper: fc.boolean(),
  dress: fc.constantFrom('plain', 'wide', 'circled', 'escaped', 'dot'),
});

function spelledV4(address: number, spelling: V4Spelling) {
  const { parts, radixes, zeros: padding, upper, dress } = spelling;
  const bytes = [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff);
  const rest = bytes.slice(parts - 1).reduce((sum, byte) => sum * 256 + byte, 0);
  const numbers = [...bytes.slice(0, parts - 1), rest].map((number, k) => {
    const base = radixes[k]!;
    const prefix = base === 16 ? '0x' : base === 8 ? '0' : '';
    const text = `${prefix}${base === 10 ? '' : '0'.repeat(padding)}${number.toString(base)}`;
    return upper ? text.toUpperCase() : text;
  });
  return dressed(numbers.join('.'), dress);
}

/** Replaces characters by others that a browser treats as equal. */
function dressed(text: string, dress: string): string {
  switch (dress) {
    case 'wide':
      return text.replace(/[\d.]/g, (c) =>
        c === '.' ? '。' : String.fromCharCode(0xfee0 + c.charCodeAt(0)),
      );
    case 'circled':
      return text.replace(/[1-9]/g, (c) => String.fromCharCode(0x245f + Number(c)));
    case 'escaped':
      return text.replace(/[\d.]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
    case 'dot':
      return `${text}.`;
    default:
      return text;
  }
}

interface V6Spelling {
  readonly padded: boolean;
  readonly upper: boolean;
  readonly short: boolean;
  readonly dotted: boolean;
}

const v6Spelling: fc.Arbitrary<V6Spelling> = fc.record({
  padded: fc.boolean(),
  upper: fc.boolean(),
  short: fc.boolean(),
  dotted: fc.boolean(),
});

function spelledV6(groups: Groups, spelling: V6Spelling) {
  const { padded, upper, short, dotted } = spelling;
  const hex = groups.map((n) => n.toString(16).padStart(padded ? 4 : 1, '0'));
  if (dotted) {
    const [g = 0, h = 0] = groups.slice(6);
    hex.splice(6, 2, [g >>> 8, g & 0xff, h >>> 8, h & 0xff].join('.'));
  }
  const whole = hex.join(':');
  // Abbreviates the first run of zeros, not the longest, because readers must accept any.
  const text = short ? whole.replace(/(?:^|:)0+(?::0+)+(?::|$)/, '::') : whole;
  return upper ? text.toUpperCase() : text;
}

// ---- verdicts

function verdictOnUrl(host: string): boolean {
  const url = parseCrawlUrl(`http://${host}/x`);
  assert.ok(!('refused' in url), host);
  return guard.checkHostLiteral(url.host) !== null;
}

test('address: an IPv4 address has the same verdict in every spelling of a URL', async () => {
  await fc.assert(
    fc.asyncProperty(anyV4, v4Spelling, async (address, spelling) => {
      const host = spelledV4(address, spelling);
      const refused = v4Refused(address);
      assert.equal(verdictOnUrl(host), refused, host);
      const { blocked } = await checkAddress(`http://${host}/`, guard);
      assert.equal(blocked, refused, host);
    }),
    { numRuns: 4000, seed: 5 },
  );
});

/** Characters that the URL parser removes; `at` is a fraction of the text. */
const removed = fc.array(
  fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), sign: fc.constantFrom(...'\t\n\r') }),
  { maxLength: 4 },
);
const scheme = fc.constantFrom('http://', 'http:', 'HTTPS:/', 'https:\\\\', 'http://user:80@', '');

test('address: characters that the URL parser removes do not change the verdict', async () => {
  await fc.assert(
    fc.asyncProperty(anyV4, v4Spelling, scheme, removed, async (...drawn) => {
      const [address, spelling, prefix, signs] = drawn;
      let text = `${prefix}${spelledV4(address, spelling)}/`;
      for (const { at, sign } of signs) {
        const k = Math.floor(at * text.length);
        text = text.slice(0, k) + sign + text.slice(k);
      }
      const { blocked } = await checkAddress(`\u0001 ${text} `, guard);
      assert.equal(blocked, v4Refused(address), JSON.stringify(text));
    }),
    { numRuns: 2000, seed: 8 },
  );
});

test('address: an IPv6 address has the same verdict in every spelling', async () => {
  await fc.assert(
    fc.asyncProperty(anyV6, v6Spelling, async (groups, spelling) => {
      const text = spelledV6(groups, spelling);
      const refused = v6Refused(groups);
      assert.equal(guard.blocked(text) !== null, refused, text);
      assert.equal(guard.blocked(`${text}%eth0`) !== null, refused, text);
      assert.equal(verdictOnUrl(`[${text}]`), refused, text);
      const { blocked } = await checkAddress(text, guard);
      assert.equal(blocked, refused, text);
    }),
    { numRuns: 4000, seed: 6 },
  );
});

test('address: a name has the verdict of the addresses to which it resolves', async () => {
  const v4 = anyV4.map((address) => ({
    address: [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff).join('.'),
    family: 4 as const,
    refused: v4Refused(address),
  }));
  const v6 = fc.tuple(anyV6, v6Spelling).map(([groups, spelling]) => ({
    address: spelledV6(groups, spelling),
    family: 6 as const,
    refused: v6Refused(groups),
  }));
  const answers = fc.array(fc.oneof(v4, v6), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(answers, async (resolved) => {
      const { blocked } = await checkAddress('http://name.example/', guard, async () => resolved);
      assert.equal(
        blocked,
        resolved.every(({ refused }) => refused),
      );
    }),
    { numRuns: 2000, seed: 7 },
  );
});

// ---- one server

/** Computes the server by arithmetic: the embedded IPv4 address, or the whole address. */
function serverOf(groups: Groups): string {
  const prefix = groups.slice(0, 6).join();
  const leads = prefix === '0,0,0,0,0,65535' || prefix === '100,65435,0,0,0,0';
  return leads ? groups.slice(6).join() : groups.join();
}

/** Pairs of addresses that often share their last 32 bits, or all bits except one. */
const oneServerOrTwo = fc
  .tuple(anyV6, anyV6, fc.constantFrom('low', 'bit', 'apart'), fc.nat(127))
  .map(([a, b, alike, bit]): readonly [Groups, Groups] => {
    if (alike === 'low') return [a, [...b.slice(0, 6), ...a.slice(6)]];
    const flipped = a.map((n, k) => (k === bit >> 4 ? n ^ (1 << (bit & 15)) : n));
    return [a, alike === 'bit' ? flipped : b];
  });

test('address: all spellings and routes of a server share one budget, and no two servers do', () => {
  let same = 0;
  fc.assert(
    fc.property(oneServerOrTwo, v6Spelling, v6Spelling, ([a, b], spellingA, spellingB) => {
      const [textA, textB] = [spelledV6(a, spellingA), spelledV6(b, spellingB)];
      assert.equal(serverKey(textA), serverKey(spelledV6(a, spellingB)), textA);
      const isOne = serverOf(a) === serverOf(b);
      if (isOne) same++;
      assert.equal(serverKey(textA) === serverKey(textB), isOne, `${textA} ${textB}`);
    }),
    { numRuns: 4000, seed: 8 },
  );
  assert.ok(same > 50, `${same} pairs were the same server`);
});

test('address: an IPv4 address shares the budget of its mapped and translated forms', () => {
  fc.assert(
    fc.property(anyV4, v6Spelling, (address, spelling) => {
      const plain = [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff).join('.');
      const low = [address >>> 16, address & 0xffff];
      for (const prefix of [
        [0, 0, 0, 0, 0, 0xffff],
        [0x64, 0xff9b, 0, 0, 0, 0],
      ]) {
        assert.equal(serverKey(spelledV6([...prefix, ...low], spelling)), plain);
      }
    }),
    { numRuns: 1000, seed: 9 },
  );
});
