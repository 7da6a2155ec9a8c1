import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  crawlKey,
  fingerprintHash,
  fingerprintOf,
  firstDifference,
  linkRulesHash,
} from '../../../config/fingerprint.ts';
import { good, plain } from './written-config.ts';

const versions = { protocol: 1, canonicalForm: 1 };
const printOf = (text: string, options?: Parameters<typeof good>[1]) =>
  fingerprintOf(good(text, options), versions);

const list = (listen: string, capacity = 1) =>
  `agents: [{ id: a, listen: "tcp://${listen}", capacity: ${capacity} }]`;

for (const [what, other] of [
  ['threads and parse workers', `${plain}agent: { threads: 3, parseWorkers: 2 }\n`],
  ['the data directory', `${plain}agent: { dataDir: elsewhere }\n`],
  ['http time-outs', `${plain.replace('http: {', 'http: { timeouts: { totalMs: 9s },')}`],
  ['private addresses', `${plain.replace('http: {', 'http: { allowPrivateAddresses: true,')}`],
  ['the archive', `${plain}archive: { links: true }\n`],
  ['networks that are not used', `${plain}dedup: { leaseMs: 9s, network: a }\n`],
  ['durability', `${plain}storage: { durability: process }\n`],
  ['the number of agents', `${plain}cluster: { agents: 3 }\n`],
  ['addresses and capacities', `${plain}cluster: { ${list('h:1', 2)} }\n`],
  ['further seeds of the same host', plain.replace('org/]', 'org/, http://example.org/b]')],
  ['another way to write a default', `${plain}limits: { bodyBytes: 10485760 }\n`],
] as const) {
  test(`fingerprint: agents need not agree on ${what}`, () => {
    assert.equal(printOf(other), printOf(plain));
    assert.equal(firstDifference(printOf(other), printOf(plain)), null);
  });
}

for (const [path, other, here, there] of [
  ['name', `${plain}name: other\ncluster: { replicas: 100 }\n`, '"crawl"', '"other"'],
  ['cluster.replicas', `${plain}cluster: { replicas: 100 }\n`, '200', '100'],
  [
    'cluster.overlay',
    `${plain}cluster: { overlay: kademlia, agents: 1 }\n`,
    '"ring"',
    '"kademlia"',
  ],
  ['cluster.kademlia.ids', `${plain}cluster: { kademlia: { ids: 8 } }\n`, '4', '8'],
  [
    'cluster.kademlia.neighbourhood',
    `${plain}cluster: { kademlia: { neighbourhood: 9 } }\n`,
    '5',
    '9',
  ],
  ['cluster.backups', `${plain}cluster: { backups: 0 }\n`, '1', '0'],
  ['cluster.agents', `${plain}cluster: { quorum: majority }\n`, 'absent', '["a1"]'],
  [
    'cluster.failureDetector.suspectAfterMs',
    `${plain}cluster: { failureDetector: { suspectAfterMs: 20s } }\n`,
    '10000',
    '20000',
  ],
  [
    'dedup',
    `${plain}dedup: { mode: redis, network: a, networks: { a: "redis://h" } }\n`,
    'absent',
    '{"batch":500,"leaseMs":60000,"mode":"redis","network":"a","networks":{"a":"redis://h"},"onTimeout":"proceed","timeoutMs":2000}',
  ],
  ['limits.pages', `${plain}limits: { pages: 5 }\n`, 'null', '5'],
  ['limits.bodyBytes', `${plain}limits: { bodyBytes: 1MiB }\n`, '10485760', '1048576'],
  ['politeness.hostDelayMs', `${plain}politeness: { hostDelayMs: 2s }\n`, '1000', '2000'],
  ['politeness.robots', `${plain}politeness: { robots: false }\n`, 'true', 'false'],
  ['urls.dropParameters', `${plain}urls: { dropParameters: [ref] }\n`, '[]', '["ref"]'],
  ['urls.dropSessions', `${plain}urls: { dropSessions: true }\n`, 'false', 'true'],
  ['links.embeds', `${plain}links: { embeds: true }\n`, 'false', 'true'],
  ['scope.hosts', `${plain}scope: { hosts: ["*"] }\n`, '["example.org"]', '["*"]'],
  ['scope.exclude', `${plain}scope: { exclude: [x] }\n`, '[]', '["x"]'],
  [
    'http.userAgent',
    plain.replace('"t (', '"u ('),
    '"t (+https://example.org/bot)"',
    '"u (+https://example.org/bot)"',
  ],
] as const) {
  test(`fingerprint: reports a difference in ${path} with both values`, () => {
    const found = firstDifference(printOf(plain), printOf(other));
    assert.deepEqual(found, { path, a: here, b: there });
    assert.notEqual(fingerprintHash(printOf(plain)), fingerprintHash(printOf(other)));
  });
}

test('fingerprint: versions of protocol and canonical form must agree', () => {
  const config = good(plain);
  const newer = fingerprintOf(config, { protocol: 2, canonicalForm: 1 });
  assert.deepEqual(firstDifference(fingerprintOf(config, versions), newer), {
    path: 'version.protocol',
    a: '1',
    b: '2',
  });
});

test('fingerprint: without a scope, the hosts of the seeds are the scope', () => {
  const spelled = `${plain}scope: { hosts: [EXAMPLE.org.] }\n`;
  assert.equal(printOf(spelled), printOf(plain));
  const other = printOf(plain.replace('https://example.org/]', 'https://example.com/]'));
  assert.equal(firstDifference(printOf(plain), other)?.path, 'scope.hosts');
});

test('fingerprint: ignores order and repetition in the scope', () => {
  const scope = (hosts: string) => `${plain}scope: { hosts: ${hosts}, include: [b, a] }\n`;
  assert.equal(printOf(scope('[a, "*.b", a]')), printOf(scope('["*.b", a]')));
});

test('fingerprint: with quorum majority, identifiers must agree, in any order', () => {
  const agents = (...ids: string[]) =>
    `${plain}cluster: { quorum: majority, agents: [${ids
      .map((id, k) => `{ id: ${id}, listen: "tcp://h:${k + 1}" }`)
      .join(', ')}] }\n`;
  assert.equal(printOf(agents('b', 'a', 'c')), printOf(agents('c', 'b', 'a')));
  const found = firstDifference(printOf(agents('a', 'b')), printOf(agents('a', 'c')));
  assert.deepEqual(found, { path: 'cluster.agents', a: '["a","b"]', b: '["a","c"]' });
});

test('fingerprint: stays short for very many hosts, and still detects a difference', () => {
  const files = (last: string) => ({
    's.txt': `${Array.from({ length: 5000 }, (_, k) => `http://h${k}/`).join('\n')}\n${last}`,
  });
  const text = 'seedFiles: [s.txt]\nhttp: { userAgent: "t t@example.org" }\n';
  const one = printOf(text, { files: files('http://x/') });
  const other = printOf(text, { files: files('http://y/') });
  assert.ok(one.length < 2000);
  const found = firstDifference(one, other);
  assert.equal(found?.path, 'scope.hosts');
  assert.match(found.a, /5001 entries/);
});

test('fingerprint: the hash is 16 hexadecimal digits', () => {
  assert.match(fingerprintHash(printOf(plain)), /^[0-9a-f]{16}$/);
});

test('fingerprint: reports a short difference for any text from a peer', () => {
  const mine = printOf(plain);
  const deep = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`;
  for (const text of ['', 'x', '[]', 'null', '{}', '1', '{"limits":[]}', deep, mine.slice(1)]) {
    const found = firstDifference(mine, text);
    assert.ok(found !== null);
    assert.ok(`${found.path}${found.a}${found.b}`.length < 1000);
  }
  assert.equal(firstDifference(mine, mine), null);
});

test('crawl key: changes with seeds, limits and scope only', () => {
  const key = (text: string) => crawlKey(good(text));
  assert.equal(key(plain), key(`${plain}agent: { threads: 2 }\npoliteness: { hostDelayMs: 0 }\n`));
  assert.notEqual(key(plain), key(plain.replace('org/]', 'org/, http://example.org/b]')));
  assert.notEqual(key(plain), key(`${plain}limits: { pages: 5 }\n`));
  assert.notEqual(key(plain), key(`${plain}scope: { exclude: [x] }\n`));
  assert.equal(
    key('seeds: [http://a/, http://b/]'),
    key('seeds: [http://b/, http://a/, http://a/]'),
  );
});

test('link rules: change with what is followed, and when links begin to be stored', () => {
  const rules = (text: string) => linkRulesHash(good(text));
  const same = `${plain}archive: { links: false, gzipLevel: 1 }\nlimits: { pages: 5 }\n`;
  assert.equal(rules(plain), rules(same));
  assert.notEqual(rules(plain), rules(`${plain}links: { embeds: true }\n`));
  assert.notEqual(rules(plain), rules(`${plain}archive: { links: true }\n`));
});
