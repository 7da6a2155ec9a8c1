// The slow tests of robots.txt; the others are in `test/unit/robots/robots-txt.test.ts`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRobots } from '../../../../agent/robots/robots-txt.ts';

function pathOf(line: string): string {
  return line.slice(line.indexOf('/'));
}

function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state / 0x80000000;
  };
}

test('robots: among many rules with wildcards the same one decides as among few', () => {
  const words = ['a', 'ab', 'b', 'abc', 'cab', 'bca', 'c', 'aabb', 'bcabc', '/', ''];
  const chance = randomOf(7);
  const pick = () => words[Math.floor(chance() * words.length)]!;
  for (let round = 0; round < 40; round++) {
    const lines = Array.from({ length: 300 }, () => {
      const end = chance() < 0.2 ? '$' : '';
      return `${chance() < 0.3 ? 'Allow' : 'Disallow'}: /${pick()}*${pick()}*${pick()}${pick()}${end}`;
    });
    const rules = parseRobots(['User-agent: *', ...lines].join('\n'), 'x');
    for (let k = 0; k < 20; k++) {
      const url = `http://a.test/${pick()}${pick()}${pick()}${pick()}`;
      // A file with a single rule has no index.
      const matching = lines.filter(
        (line) => parseRobots(`User-agent: *\n${line}`, 'x').allows(url).rule,
      );
      const best = matching.toSorted(
        (a, b) =>
          pathOf(b).length - pathOf(a).length || Number(a[0] === 'D') - Number(b[0] === 'D'),
      )[0];
      assert.equal(rules.allows(url).allowed, best === undefined || best[0] === 'A', url);
    }
  }
});
