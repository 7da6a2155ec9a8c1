// Tests that all spellings of a URL have one identity. The test draws a URL as its parts, joins
// them into the canonical form, and spells it in all ways that RFC 3986 and the URL Standard treat
// as equal. Each spelling must have that identity, and URLs with different parts must differ. The
// expected identity does not come from a parser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseCrawlUrl } from '../../agent/url/crawl-url.ts';

/** A character that is equal in every spelling, or a byte that stays escaped. */
type Sign = string;

interface Parts {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  /** Null: the default port of the scheme. */
  readonly port: number | null;
  readonly segments: readonly (readonly Sign[])[];
  readonly query: readonly Sign[] | null;
}

const unreserved = fc.constantFrom(...'abzAZ059-._~');
const literal = fc.constantFrom(...'!$()*+,;=:@');
const escaped = fc.constantFrom('%00', '%20', '%23', '%25', '%2F', '%3F', '%5C', '%C3', '%FF');
const sign = fc.oneof({ weight: 6, arbitrary: unreserved }, literal, escaped);
const isDots = (segment: readonly Sign[]) => /^\.\.?$/.test(segment.join(''));
const segment = fc.array(sign, { maxLength: 5 }).filter((signs) => !isDots(signs));
const label = fc.constantFrom('a', 'www', 'xn--bcher-kva', 'x-y', 'under_score', '9to5');

const anyUrl: fc.Arbitrary<Parts> = fc.record({
  scheme: fc.constantFrom('http', 'https'),
  host: fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => `${labels.join('.')}.test`),
  port: fc.constantFrom(null, 8080, 81),
  segments: fc.array(segment, { minLength: 1, maxLength: 4 }),
  query: fc.option(fc.array(fc.oneof(sign, fc.constantFrom('/', '?', '&')), { maxLength: 6 })),
});

function canonical({ scheme, host, port, segments, query }: Parts): string {
  const path = segments.map((signs) => `/${signs.join('')}`).join('');
  return `${scheme}://${host}${port === null ? '' : `:${port}`}${path}${
    query === null ? '' : `?${query.join('')}`
  }`;
}

/** Makes choices from a list of numbers, cyclically, so that a failing spelling can shrink. */
function chooser(choices: readonly number[]): (of: number) => number {
  let at = 0;
  return (of) => (choices[at++ % choices.length] ?? 0) % of;
}

function spelled(parts: Parts, choices: readonly number[]): string {
  const choose = chooser(choices);
  const anyCase = (text: string) =>
    [...text].map((c) => (choose(2) === 0 ? c : c.toUpperCase())).join('');
  const spell = (one: Sign) => {
    if (one.length > 1) return choose(2) === 0 ? one : one.toLowerCase();
    if (!/[A-Za-z0-9._~-]/.test(one) || choose(3) > 0) return one;
    const hex = one.charCodeAt(0).toString(16);
    return `%${choose(2) === 0 ? hex : hex.toUpperCase()}`;
  };
  const slash = () => (choose(5) === 0 ? '\\' : '/');
  const detour = () => ['./', '%2e/', 'x/../', 'x/.%2E/', 'x\\%2e%2E\\'][choose(25)] ?? '';
  const path = parts.segments.map((signs) => slash() + detour() + signs.map(spell).join(''));
  const own = parts.scheme === 'http' ? '80' : '443';
  const port =
    parts.port === null ? ['', '', ':', `:${own}`, `:0${own}`][choose(5)] : `:${parts.port}`;
  const user = ['', '', 'me@', 'me:pw@', ':@'][choose(5)];
  const query = parts.query === null ? '' : `?${parts.query.map(spell).join('')}`;
  const fragment = ['', '', '#', '#top?/../'][choose(4)];
  const text =
    `${anyCase(parts.scheme)}:${slash()}${slash()}${user}${anyCase(parts.host)}${port}` +
    `${path.join('')}${query}${fragment}`;
  const at = choose(text.length);
  const cut = choose(4) === 0 ? `${text.slice(0, at)}\n\t${text.slice(at)}` : text;
  return [cut, ` ${cut}`, `${cut}\r\n`][choose(3)]!;
}

const choices = fc.array(fc.nat(1000), { minLength: 20, maxLength: 60 });

function identityOf(text: string): string {
  const url = parseCrawlUrl(text);
  assert.ok(!('refused' in url), JSON.stringify(text));
  return url.identity;
}

test('url: every spelling of a URL has the identity that its parts define', () => {
  fc.assert(
    fc.property(anyUrl, choices, (parts, how) => {
      const text = spelled(parts, how);
      assert.equal(identityOf(text), canonical(parts), JSON.stringify(text));
    }),
    { numRuns: 10_000, seed: 3986 },
  );
});

test('url: URLs with different parts have different identities, however they are spelled', () => {
  fc.assert(
    fc.property(anyUrl, anyUrl, choices, choices, (a, b, how, otherwise) => {
      const isPath = how[0]! % 2 === 0;
      const other: Parts = isPath ? { ...a, segments: b.segments } : { ...a, query: b.query };
      const same = canonical(a) === canonical(other);
      const [one, two] = [spelled(a, how), spelled(other, otherwise)];
      assert.equal(identityOf(one) === identityOf(two), same, JSON.stringify([one, two]));
    }),
    { numRuns: 3000, seed: 3987 },
  );
});
