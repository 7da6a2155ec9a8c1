import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRobots, ROBOTS_BYTES_MAX } from '../../../agent/robots/robots-txt.ts';
import { CHECK_STEPS_MAX } from '../../../agent/robots/rule-set.ts';
import { assertLinear } from '../../checkers/linear-cost.ts';
import { absent, bytesOf, independentCases } from '../url/independent-cases.ts';

interface RobotsRow {
  id: string;
  robots?: string;
  robots_b64?: string;
  robotsGen?: { prefix: string; repeat: string; untilBytes: number; suffix: string };
  agent: string;
  url: string;
  allowed: boolean;
  tier: string;
}
interface Extra {
  crawlDelay: { robots: string; agent: string; crawlDelayMs: number | null | 'either' }[];
  sitemaps: { robots: string; agent: string; value: number }[];
}

const cases = independentCases<RobotsRow[]>('robots.json');
const extra = independentCases<Extra>('robots_extra.json');

/**
 * Rows of tier vendor or conflict that this parser answers differently by decision: it
 * compares only the first product token of a line, and as a whole (R0373, R0903, R0912); compares
 * paths after normalising URL and rule (R0064, R0067); takes a final `$` as the end (R0885); leaves
 * a long Crawl-delay to the scheduler (R0458); lets only rules end a group (R0989); and supports
 * wildcards (R1043, R1045).
 */
const OTHERWISE = new Set([
  ...['R0373', 'R0903', 'R0912', 'R0064', 'R0067'],
  ...['R0885', 'R0458', 'R0989', 'R1043', 'R1045'],
]);

function bodyOf(row: RobotsRow): Uint8Array {
  if (row.robotsGen === undefined) return bytesOf(row.robots, row.robots_b64);
  const { prefix, repeat, untilBytes, suffix } = row.robotsGen;
  const times = Math.ceil((untilBytes - prefix.length) / repeat.length);
  return Buffer.from(prefix + repeat.repeat(times) + suffix);
}

function allowed(robots: string | Uint8Array, path: string, agent = 'mybot'): boolean {
  return parseRobots(robots, agent).allows(`http://a.test${path}`).allowed;
}

/** A file of 24,000 rules, and a URL whose path contains the longest literal part of each. */
function expensive(): { robots: string; url: string } {
  const rules = Array.from({ length: 24_000 }, (_, k) => `Disallow:/*x${k.toString(36)}*aaaaa`);
  return { robots: `User-agent:*\n${rules.join('\n')}`, url: `http://a.test/${'a'.repeat(7990)}` };
}

test('robots: the longest match wins, and allow wins a tie', () => {
  const robots = 'user-agent: *\nallow: /a/b\ndisallow: /a\ndisallow: /t\nallow: /t';
  assert.ok(allowed(robots, '/a/b/c'));
  assert.ok(!allowed(robots, '/a/c'));
  assert.ok(allowed(robots, '/t'));
});

test('robots: groups of the same token are merged, and own groups replace those of everyone', () => {
  const robots =
    'User-agent: MyBot/1\nDisallow: /a\nUser-agent: *\nDisallow: /b\n' +
    'User-agent: mybot\nDisallow: /c';
  assert.deepEqual(
    ['/a', '/b', '/c'].map((path) => allowed(robots, path)),
    [false, true, false],
  );
  assert.ok(!allowed(robots, '/b', 'mybot-images'));
});

test('robots: a crawler of several names obeys the groups of all of them', () => {
  const robots =
    'User-agent: a\nDisallow: /a\nUser-agent: b\nDisallow: /b\nUser-agent: *\nDisallow: /c';
  const paths = ['/a', '/b', '/c'];
  const verdicts = (names: string[]) => {
    const rules = parseRobots(robots, names);
    return paths.filter((path) => !rules.allows(`http://a.test${path}`).allowed).join(' ');
  };
  assert.equal(verdicts(['a', 'B']), '/a /b');
  assert.equal(verdicts(['a', '*']), '/a /c');
  assert.equal(verdicts(['x', 'y']), '/c');
});

test('robots: an own group without rules still replaces those of everyone', () => {
  assert.ok(allowed('user-agent: *\ndisallow: /\n\nuser-agent: mybot\n', '/a'));
});

test('robots: Sitemap, Crawl-delay and unknown lines do not end a group', () => {
  for (const line of ['Sitemap: /s', 'Crawl-delay: 1', 'Host: a.test', '', '# x']) {
    assert.ok(!allowed(`user-agent: mybot\n${line}\nuser-agent: x\ndisallow: /`, '/a'), line);
  }
});

test('robots: * matches any run, and $ matches the end if it is last, otherwise itself', () => {
  const robots = 'user-agent: *\ndisallow: /*.gif$\ndisallow: /x*y**z\ndisallow: /p$q';
  for (const path of ['/a.gif', '/d/a.b.gif', '/xyz', '/x1y2z3', '/p$q', '/p%24q']) {
    assert.ok(!allowed(robots, path), path);
  }
  for (const path of ['/a.gif?x', '/a.gift', '/xzy', '/p']) assert.ok(allowed(robots, path), path);
});

test('robots: an anchored end cannot overlap the start', () => {
  assert.ok(allowed('user-agent: *\ndisallow: /ab*ab$', '/ab'));
  assert.ok(!allowed('user-agent: *\ndisallow: /ab*ab$', '/abab'));
  assert.ok(!allowed('user-agent: *\ndisallow: /*$', '/'));
});

test('robots: an empty query is part of the URL', () => {
  const rules = parseRobots('User-agent: *\nDisallow: /x?\nDisallow: /y$', 'mybot');
  const allows = (path: string) => rules.allows(`http://a.test${path}`).allowed;
  for (const path of ['/x?', '/x?#top', '/x?a', '/x??']) assert.equal(allows(path), false, path);
  for (const path of ['/x', '/x#?', '/y?', '/y?#top']) assert.equal(allows(path), true, path);
  assert.equal(allows('/y#top?'), false);
});

test('robots: rule and URL may spell the same path differently', () => {
  const spellings = ['/ü~', '/%c3%bc~', '/%C3%BC%7e'];
  for (const rule of spellings) {
    for (const path of spellings) {
      assert.ok(!allowed(`user-agent: *\ndisallow: ${rule}`, path), `${rule} ${path}`);
    }
  }
  assert.ok(allowed('user-agent: *\ndisallow: /a%2Fb', '/a/b'));
  assert.ok(!allowed('user-agent: *\ndisallow: /a%2ab', '/a*b'));
  assert.ok(allowed('user-agent: *\ndisallow: /a%2ab', '/axb'));
});

test('robots: octets that are not UTF-8 match the same octets', () => {
  const rules = parseRobots(Buffer.from('user-agent: *\ndisallow: /b\xfc\xa0', 'latin1'), 'x');
  assert.ok(!rules.allows('http://a.test/b%FC%A0').allowed);
  assert.ok(rules.allows('http://a.test/b%C3%BC').allowed);
});

test('robots: robots.txt itself is always allowed', () => {
  assert.ok(allowed('user-agent: *\ndisallow: /', '/robots.txt'));
  assert.ok(!allowed('user-agent: *\ndisallow: /', '/robots.txt2'));
});

test('robots: misspelt keys and missing colons are obeyed', () => {
  for (const line of [
    'Dissallow: /',
    'disalow:/',
    'disallow /',
    'DISALLOW : /',
    'disallow: /<BR>',
  ]) {
    assert.ok(!allowed(`useragent: *\n${line}`, '/a'), line);
  }
  assert.ok(allowed('user-agent: *\ndisallow all of it', '/a'));
});

test('robots: reads any line ends, a byte order mark and UTF-16', () => {
  for (const end of ['\n', '\r', '\r\n']) {
    assert.ok(!allowed(`\ufeffuser-agent: *${end}disallow: /a${end}`, '/a'));
  }
  const utf16 = Buffer.from('\ufeffuser-agent: *\ndisallow: /a', 'utf16le');
  assert.ok(!parseRobots(utf16, 'x').allows('http://a.test/a').allowed);
});

test('robots: ignores byte order marks at the start of any line', () => {
  const file = '\ufeffuser-agent: *\ndisallow: /a\n';
  assert.ok(!allowed(`\ufeff${file}`, '/a'));
  assert.ok(!allowed(Buffer.from(`\ufeff${file}`, 'utf16le'), '/a'));
  assert.ok(allowed(`user-agent: other\ndisallow: /b\n${file}`, '/b'));
  assert.ok(!allowed(`user-agent: other\ndisallow: /b\n${file}`, '/a'));
  assert.ok(allowed('user-agent: *\ndisallow: /\ufeffa', '/a'));
});

test('robots: ignores what is beyond the size limit, and the line that the limit cuts', () => {
  const head = 'user-agent: *\n';
  const line = 'disallow: /late\n';
  const pad = (octets: number) => `${'#'.repeat(octets - head.length - 1)}\n`;
  assert.ok(!allowed(head + pad(ROBOTS_BYTES_MAX - line.length) + line, '/late'));
  assert.ok(allowed(head + pad(ROBOTS_BYTES_MAX - line.length + 4) + line, '/la'));
  assert.ok(allowed(head + pad(ROBOTS_BYTES_MAX) + line, '/late'));
});

test('robots: every line of the first 500 KiB counts, wherever its end is', () => {
  const least = 500 * 1024;
  const head = 'user-agent: *\n';
  const line = 'disallow: /late';
  for (const end of ['', '\n', '\r\n', '\nallow: /late', '\r\nallow: /late']) {
    const pad = `${'#'.repeat(least - head.length - line.length - 1)}\n`;
    const robots = head + pad + line + end;
    assert.equal(robots.length, least + end.length);
    const read = Buffer.from(robots).subarray(0, ROBOTS_BYTES_MAX);
    for (const body of [robots, read]) assert.ok(!allowed(body, '/late'), JSON.stringify(end));
  }
  // A line that continues by one octet beyond 500 KiB may be incomplete, so it does not count.
  const beyond = `${head}${'#'.repeat(least - head.length - line.length)}\n${line}ly and`;
  for (const body of [beyond, Buffer.from(beyond).subarray(0, ROBOTS_BYTES_MAX)]) {
    assert.ok(allowed(body, '/late'));
  }
});

test('robots: ignores a line that the size limit cuts, in any encoding', () => {
  const text = (octets: number, end: string) => {
    const head = `\ufeffuser-agent: *\n`;
    const robots = `${head}${'#'.repeat(octets - 100)}\ndisallow: /a`;
    return `${robots.padEnd(octets, '/a')}${end}`;
  };
  const isAllowed = (whole: Buffer) => {
    return allowed(whole.subarray(0, ROBOTS_BYTES_MAX), '/a'.repeat(999));
  };
  assert.ok(isAllowed(Buffer.from(text(500 * 1024, '/more'))));
  assert.ok(isAllowed(Buffer.from(text(250 * 1024, '/more'), 'utf16le')));
  assert.ok(!isAllowed(Buffer.from(text(250 * 1024, '\nallow: /a'), 'utf16le')));
});

test('robots: reports the line that decided', () => {
  const rules = parseRobots('user-agent: *\ndisallow: /ü # no\nallow:/b', 'x');
  assert.equal(rules.allows('http://a.test/ü').rule, 'Disallow: /ü');
  assert.equal(rules.allows('http://a.test/b').rule, 'Allow: /b');
  assert.equal(rules.allows('http://a.test/c').rule, null);
});

test('robots: Crawl-delay applies to the agents right above it, is never negative and at most a day', () => {
  const delay = (robots: string) => parseRobots(robots, 'mybot').crawlDelayMs;
  assert.equal(delay('user-agent: mybot\ncrawl-delay: 0.25'), 250);
  assert.equal(delay('user-agent: x\ncrawl-delay: 1\nuser-agent: mybot\ncrawl-delay: 2'), 2000);
  assert.equal(delay('user-agent: mybot\ncrawl-delay: 99999999'), 86_400_000);
  for (const value of ['-1', 'x', '1e3', 'Infinity', '10s', '', '.']) {
    assert.equal(delay(`user-agent: mybot\ncrawl-delay: ${value}`), null, value);
  }
});

test('robots: lists each sitemap once, as absolute URL if the URL of the file is known', () => {
  const robots = 'Sitemap: /s.xml\nsitemap: http://a.test/s.xml\nsitemap: http://\n';
  assert.equal(parseRobots(robots, 'x').sitemaps.length, 3);
  assert.deepEqual(parseRobots(robots, 'x', 'http://a.test/robots.txt').sitemaps, [
    'http://a.test/s.xml',
  ]);
});

test('robots: hostile files and URLs cost linear time', () => {
  const shapes = [
    ...[8, 64, 1000].map((n) => `*${'a'.repeat(n / 4)}b${'a'.repeat((n * 3) / 4)}`),
    ...['*a'.repeat(900), `${'*a'.repeat(900)}b$`, ' '.repeat(9000), '<br '.repeat(4000)],
  ];
  for (const shape of shapes) {
    const line = `disallow: /${shape}\n`;
    const check = (size: number) => {
      const robots = `user-agent: *\n${line.repeat(Math.floor(size / line.length))}`;
      parseRobots(robots, 'x').allows(`http://a.test/${'a'.repeat(2030)}`);
    };
    assertLinear(shape.slice(0, 20), check, ROBOTS_BYTES_MAX);
  }
});

for (const tier of ['rfc', 'impl+rfc', 'vendor', 'conflict']) {
  test(`independent cases: tier ${tier}`, { skip: absent(cases) }, () => {
    for (const row of cases!.filter((row) => row.tier === tier)) {
      const names = row.agent.split(',');
      const verdict = parseRobots(bodyOf(row), names).allows(row.url);
      const expected = OTHERWISE.has(row.id) ? !row.allowed : row.allowed;
      assert.equal(verdict.allowed, expected, `${row.id} ${row.agent} ${row.url}`);
    }
  });
}

test('independent cases: delays and sitemaps', { skip: absent(extra) }, () => {
  for (const row of extra!.crawlDelay) {
    const { crawlDelayMs } = parseRobots(row.robots, row.agent);
    if (row.crawlDelayMs !== 'either') assert.equal(crawlDelayMs, row.crawlDelayMs, row.robots);
  }
  for (const row of extra!.sitemaps) {
    const { sitemaps } = parseRobots(row.robots, row.agent, 'http://a.test/robots.txt');
    assert.equal(sitemaps.length, row.value, row.robots);
  }
});

test('robots: a check takes a bounded number of steps, however many rules there are', () => {
  const { robots, url } = expensive();
  const rules = parseRobots(robots, 'x');
  assert.ok(rules.size.isAboveCap);
  assert.ok(rules.allows(url).steps <= CHECK_STEPS_MAX);
  // For a short URL all rules are evaluated.
  assert.equal(rules.allows('http://a.test/xx/aaaaa').rule, 'Disallow: /*xx*aaaaa');
});

test('robots: rules without wildcards are evaluated, whatever the others cost', () => {
  const { robots, url } = expensive();
  const rules = parseRobots(`${robots.slice(0, 400_000)}\nDisallow: /aa\n`, 'x');
  assert.equal(rules.allows(url).rule, 'Disallow: /aa');
});

test('robots: a repeated rule is stored once', () => {
  const rules = parseRobots(`User-agent: *\n${'Disallow: /*a\n'.repeat(30_000)}`, 'x');
  assert.deepEqual(rules.size, { rules: 1, wildcards: 1, isAboveCap: false });
});
