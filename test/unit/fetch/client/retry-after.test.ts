import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseRetryAfter, RETRY_AFTER_MAX_MS } from '../../../../agent/fetch/client/retry-after.ts';

/** Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110. */
const EXAMPLE = Date.UTC(1994, 10, 6, 8, 49, 37);
const MINUTE_BEFORE = EXAMPLE - 60_000;

const CASES: [string, string | undefined, number | null][] = [
  ['seconds', '120', 120_000],
  ['zero', '0', 0],
  ['surrounding white space', ' 7\t', 7000],
  ['leading zeros', '007', 7000],
  ['more than a day', '86401', RETRY_AFTER_MAX_MS],
  ['more than a number holds', '9'.repeat(400), RETRY_AFTER_MAX_MS],
  ['IMF-fixdate', 'Sun, 06 Nov 1994 08:49:37 GMT', 60_000],
  ['RFC 850', 'Sunday, 06-Nov-94 08:49:37 GMT', 60_000],
  ['asctime', 'Sun Nov  6 08:49:37 1994', 60_000],
  ['asctime is UTC, whatever the time zone of the machine', 'Sun Nov 06 08:49:37 1994', 60_000],
  ['lower case', 'sun, 06 nov 1994 08:49:37 gmt', 60_000],
  ['a leap second', 'Sun, 06 Nov 1994 08:48:60 GMT', 23_000],
  ['a date in the past', 'Sun, 06 Nov 1994 08:00:00 GMT', 0],
  ['a date far in the future', 'Sun, 06 Nov 2094 08:49:37 GMT', RETRY_AFTER_MAX_MS],
  ['a two-digit year more than 50 years ahead is in the past', 'Sunday, 06-Nov-45 08:49:37 GMT', 0],
  [
    'a two-digit year 50 years ahead is in the future',
    'Sunday, 06-Nov-44 08:49:37 GMT',
    RETRY_AFTER_MAX_MS,
  ],
  ['missing', undefined, null],
  ['empty', '', null],
  ['negative', '-1', null],
  ['fraction', '1.5', null],
  ['exponent', '1e3', null],
  ['hexadecimal', '0x10', null],
  ['two values joined', '120, 120', null],
  ['words', 'tomorrow', null],
  ['ISO date', '1994-11-06T08:49:37Z', null],
  ['an invalid month', 'Sun, 06 Nob 1994 08:49:37 GMT', null],
  ['an invalid day', 'Thu, 31 Nov 1994 08:49:37 GMT', null],
  ['an invalid hour', 'Sun, 06 Nov 1994 24:49:37 GMT', null],
  ['local time', 'Sun, 06 Nov 1994 08:49:37 CET', null],
];

for (const [claim, value, expected] of CASES) {
  test(`retry-after: ${claim}`, () => {
    assert.equal(parseRetryAfter({ 'retry-after': value }, MINUTE_BEFORE), expected);
  });
}

test('retry-after: reads back to the second what Date prints', () => {
  const moment = fc.integer({ min: 0, max: Date.UTC(2200, 0, 1) / 1000 });
  fc.assert(
    fc.property(moment, fc.integer({ min: 0, max: 86_400 }), (second, ahead) => {
      const header = new Date((second + ahead) * 1000).toUTCString();
      assert.equal(parseRetryAfter({ 'retry-after': header }, second * 1000), ahead * 1000);
    }),
  );
});

test('retry-after: any text gives null or a wait within the cap', () => {
  fc.assert(
    fc.property(fc.string(), (value) => {
      const wait = parseRetryAfter({ 'retry-after': value, date: value }, MINUTE_BEFORE);
      assert.ok(wait === null || (wait >= 0 && wait <= RETRY_AFTER_MAX_MS));
    }),
  );
});

test('retry-after: compares a date with the Date of the response, whatever the local clock', () => {
  const date = new Date(EXAMPLE).toUTCString();
  const value = new Date(EXAMPLE + 20_000).toUTCString();
  for (const skewMs of [-3600_000, 0, 3600_000]) {
    assert.equal(parseRetryAfter({ 'retry-after': value, date }, EXAMPLE + skewMs), 20_000);
  }
});

test('retry-after: uses the local clock without a readable Date', () => {
  const value = new Date(EXAMPLE + 20_000).toUTCString();
  for (const date of [undefined, '', 'yesterday', '1994-11-06T08:49:37Z']) {
    assert.equal(parseRetryAfter({ 'retry-after': value, date }, EXAMPLE), 20_000);
  }
});
