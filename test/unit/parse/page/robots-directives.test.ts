import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  headerDirectives,
  metaDirectives,
  NO_DIRECTIVES,
} from '../../../../agent/parse/page/robots-directives.ts';
import { absent, independentCases } from '../../url/independent-cases.ts';

interface Row {
  xRobotsTag?: string[];
  directives?: string[];
  agent?: string;
  directivesForAgent?: string[];
}

const meta = independentCases<{ robotsMeta: Row[] }>('html_meta.json');

/** The directives of the header, as words. */
function words(header: string, token = 'mybot'): string {
  const said = headerDirectives(header, token);
  return Object.entries(said)
    .filter(([, yes]) => yes)
    .map(([word]) => word)
    .join(' ');
}

test('directives: a header without a name applies to every crawler', () => {
  assert.equal(words('noindex'), 'noindex');
  assert.equal(words(' NoFollow , noarchive'), 'nofollow noarchive');
  assert.equal(words('none'), 'noindex nofollow noarchive');
  assert.equal(words('index, follow, max-snippet: 0'), '');
});

test('directives: a name applies until the next one', () => {
  assert.equal(words('MyBot: noindex, nofollow'), 'noindex nofollow');
  assert.equal(words('other: noindex, nofollow'), '');
  assert.equal(words('noarchive, other: noindex, mybot: nofollow'), 'nofollow noarchive');
  assert.equal(words('mybot: other: noindex'), '');
  assert.equal(words('mybot:'), '');
});

test('directives: a colon before a value does not make its key a name', () => {
  assert.equal(words('unavailable_after: 25 Jun 2010 15:00:00 PST, noindex'), 'noindex');
  const date = 'Wed, 03 Sep 2025 15:00:00 GMT';
  assert.equal(words(`unavailable_after: ${date}, nofollow`), 'nofollow');
  assert.equal(words('max-image-preview: large, nofollow'), 'nofollow');
  assert.equal(words('mybot: max-snippet: 5, nofollow'), 'nofollow');
});

test('directives: blanks separate directives, but not a key from its value', () => {
  assert.equal(words('noindex nofollow'), 'noindex nofollow');
  assert.equal(words('mybot: noindex  nofollow, other: none'), 'noindex nofollow');
  assert.equal(metaDirectives(' NoIndex\n nofollow ').nofollow, true);
  for (const value of ['max-image-preview: none', 'max-image-preview:none', 'x: none noindex']) {
    assert.deepEqual(metaDirectives(value), NO_DIRECTIVES, value);
  }
  assert.equal(words('max-image-preview: none, index'), '');
});

test('directives: are read from a meta element', () => {
  assert.equal(metaDirectives('noindex,follow').noindex, true);
  assert.equal(metaDirectives('noindex,follow').nofollow, false);
  assert.equal(metaDirectives('no-index').noindex, false);
});

test('independent cases: X-Robots-Tag', { skip: absent(meta) }, () => {
  const rows = meta!.robotsMeta.filter((row) => row.xRobotsTag !== undefined);
  for (const { xRobotsTag, directives, directivesForAgent, agent } of rows) {
    const header = xRobotsTag!.join(', ');
    const expected = directivesForAgent ?? directives!;
    const { noindex, nofollow } = headerDirectives(header, agent ?? 'mybot');
    assert.equal(noindex, expected.includes('noindex'), header);
    assert.equal(nofollow, expected.includes('nofollow'), header);
  }
  assert.ok(rows.length > 0);
});
