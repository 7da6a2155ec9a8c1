// Compares the parser with robots-parser on generated files where both must agree. The files
// exclude cases that robots-parser answers differently: robots.txt itself, escapes of unreserved
// characters, misspelt keys, missing colons, tokens that are prefixes of others, and URLs with an
// empty query.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseRobots } from '../../../agent/robots/robots-txt.ts';

interface Oracle {
  isAllowed(url: string, agent: string): boolean | undefined;
  getCrawlDelay(agent: string): number | undefined;
}
const oracle: (url: string, contents: string) => Oracle = createRequire(import.meta.url)(
  'robots-parser',
);

const path = fc
  .array(fc.constantFrom('a', 'b', 'ab', '/', '.', '?', '=', '%2F', 'ü'), { maxLength: 6 })
  .map((parts) => `/${parts.join('')}`);
const pattern = fc.oneof(
  path,
  fc
    .tuple(fc.array(fc.constantFrom('a', 'b', '/', '*', '.'), { maxLength: 7 }), fc.boolean())
    .map(([parts, anchored]) => `/${parts.join('')}${anchored ? '$' : ''}`),
);
const rule = fc.tuple(fc.constantFrom('Allow', 'disallow'), pattern);
const group = fc.tuple(
  fc.array(fc.constantFrom('mybot', 'Other', '*'), { minLength: 1, maxLength: 2 }),
  fc.array(rule, { minLength: 1, maxLength: 5 }),
);
const file = fc
  .array(group, { maxLength: 4 })
  .map((groups) =>
    groups
      .map(([agents, rules]) =>
        [
          ...agents.map((agent) => `User-agent: ${agent}`),
          ...rules.map(([key, value]) => `${key}: ${value}`),
        ].join('\n'),
      )
      .join('\n\n'),
  );

const asked = path.filter((where) => !/^[^?]*\?$/.test(where));

test('robots: agrees with robots-parser on well-formed files', () => {
  fc.assert(
    fc.property(file, asked, (robots, where) => {
      const url = `http://a.test${where}`;
      const expected = oracle('http://a.test/robots.txt', robots).isAllowed(url, 'mybot');
      assert.equal(parseRobots(robots, 'mybot').allows(url).allowed, expected ?? true);
    }),
    { numRuns: 5000 },
  );
});
