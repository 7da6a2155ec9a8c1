import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { leaseMsOf, membersOf } from '../../../../config/config.ts';
import { loadConfig } from '../../../../config/file/load.ts';
import {
  bad,
  good,
  load,
  newDirectory,
  onlyProblem,
  plain,
  warningsOf,
} from '../written-config.ts';

const defaults = {
  name: 'crawl',
  limits: {
    pagesPerHost: 10_000,
    depthPerHost: 16,
    pages: null,
    urlLength: 2048,
    repeatedSegments: 5,
    stalePages: 1000,
    bodyBytes: 10_485_760,
  },
  urls: { dropParameters: [], dropTracking: false, dropSessions: false },
  links: { embeds: false },
  sitemaps: [],
  politeness: {
    hostDelayMs: 1000,
    ipDelayMs: 0,
    crawlDelayMaxMs: 30_000,
    responseTimeFactor: 0,
    hosts: {},
    robots: true,
  },
  http: {
    userAgent: 'ubiring',
    allowPrivateAddresses: false,
    client: 'got',
    timeouts: { connectMs: 5000, responseMs: 10_000, totalMs: 30_000 },
    contentTypes: null,
    http2: true,
    tls: { verify: true, ca: null },
    proxy: null,
    cookies: false,
    dns: { family: 'any', ttlMinMs: 60_000, ttlMaxMs: 3_600_000, negativeTtlMs: 60_000 },
  },
  cluster: {
    agents: 1,
    overlay: 'ring',
    contacts: [],
    kademlia: { ids: 4, bucketSize: 20, concurrency: 3, neighbourhood: 5 },
    replicas: 200,
    backups: 1,
    quorum: 'none',
    failureDetector: { heartbeatMs: 1000, suspectAfterMs: 10_000 },
  },
  dedup: {
    mode: 'none',
    network: null,
    networks: {},
    onTimeout: 'proceed',
    timeoutMs: 2000,
    batch: 500,
    leaseMs: 60_000,
  },
  storage: { durability: 'power' },
  archive: {
    warc: true,
    fileBytes: 1024 ** 3,
    compression: 'gzip',
    gzipLevel: 1,
    zstdLevel: 3,
    links: false,
  },
  monitor: { listen: null, tokens: null },
};

test('load: accepts seeds alone, and sets every default', () => {
  const config = good('seeds: [https://www.Example.org./a]');
  const { file, seeds, inlineSeeds, seedFiles, scope, agent, ...rest } = config;
  assert.deepEqual(rest, defaults);
  assert.deepEqual(seeds, ['https://www.Example.org./a']);
  assert.deepEqual(inlineSeeds, seeds);
  assert.deepEqual(seedFiles, []);
  assert.deepEqual(scope, { hosts: ['www.example.org'], include: [], exclude: [] });
  assert.deepEqual(agent, {
    threads: 64,
    parseWorkers: 1,
    dataDir: path.join(path.dirname(file), 'data'),
  });
  assert.deepEqual(membersOf(config), [{ id: 'a1', capacity: 1 }]);
  assert.equal(leaseMsOf(config), 6000);
});

test('load: JSON is read like YAML', () => {
  const text = JSON.stringify({ seeds: ['http://h/'], politeness: { hostDelayMs: '2s' } }, null, 2);
  assert.equal(good(text).politeness.hostDelayMs, 2000);
  const wrong = onlyProblem(text.replace('"2s"', '"2 sec"'));
  assert.deepEqual([wrong.path, wrong.line], ['politeness.hostDelayMs', 6]);
});

test('load: accepts units in durations and sizes', () => {
  const config = good(`${plain}
politeness: { hostDelayMs: 1.5s, ipDelayMs: 2m }
limits: { bodyBytes: 64KiB }
cluster: { failureDetector: { heartbeatMs: 200, suspectAfterMs: 1h } }
`);
  assert.deepEqual(config.politeness, {
    hostDelayMs: 1500,
    ipDelayMs: 120_000,
    crawlDelayMaxMs: 30_000,
    responseTimeFactor: 0,
    hosts: {},
    robots: true,
  });
  assert.equal(config.limits.bodyBytes, 65_536);
  assert.deepEqual(config.cluster.failureDetector, { heartbeatMs: 200, suspectAfterMs: 3_600_000 });
});

for (const [what, value] of [
  ['a string without a unit', '"500"'],
  ['an unknown unit', '10sec'],
  ['a space before the unit', '"10 s"'],
  ['a fraction of a millisecond', '0.5'],
  ['less than zero', '-1'],
  ['a negative string', '"-1s"'],
  ['more than a timer can wait', '2147483648'],
  ['more than a timer can wait, with a unit', '600h'],
  ['infinity', '.inf'],
  ['not a number', '.nan'],
  ['a list', '[1]'],
  ['an empty value', ''],
] as const) {
  test(`load: refuses a duration with its line and a remedy: ${what}`, () => {
    const problem = onlyProblem(`${plain}politeness:\n  hostDelayMs: ${value}\n`);
    assert.equal(problem.code, 'config-bad-value');
    assert.deepEqual([problem.path, problem.line], ['politeness.hostDelayMs', 4]);
    assert.notEqual(problem.remedy, '');
  });
}

for (const value of ['5MB', '5M', '0', '0KiB', '-1', '2GiB', '1.5', 'ten', '[1]', 'null']) {
  test(`load: refuses a size of ${value}`, () => {
    const problem = onlyProblem(`${plain}limits: { bodyBytes: ${value} }`);
    assert.equal(problem.path, 'limits.bodyBytes');
    assert.notEqual(problem.remedy, '');
  });
}

for (const [key, value] of [
  ['agent.threads', '0'],
  ['agent.threads', '4097'],
  ['agent.threads', '"16"'],
  ['limits.pages', '0'],
  ['limits.pagesPerHost', '0'],
  ['limits.depthPerHost', '-1'],
  ['limits.urlLength', '0'],
  ['cluster.replicas', '0'],
  ['cluster.replicas', '10001'],
  ['cluster.overlay', 'chord'],
  ['cluster.contacts', 'tcp://h:1'],
  ['cluster.kademlia', '8'],
  ['cluster.backups', '-1'],
  ['cluster.quorum', 'some'],
  ['cluster.agents', '0'],
  ['cluster.agents', '2.5'],
  ['cluster.agents', '[]'],
  ['cluster.agents', 'four'],
  ['storage.durability', 'fsync'],
  ['politeness.robots', 'yes'],
  ['http.allowPrivateAddresses', '1'],
  ['http.client', 'axios'],
  ['http.timeouts', '10s'],
  ['http', 'null'],
] as const) {
  test(`load: ${key} may not be ${value}`, () => {
    const [section, name] = key.split('.');
    const text = name === undefined ? `${section}: ${value}` : `${section}: { ${name}: ${value} }`;
    const problem = onlyProblem(`seeds: [https://example.org/]\n${text}\n`);
    assert.deepEqual([problem.path, problem.line], [key, 2]);
    assert.notEqual(`${problem.message}${problem.remedy}`, '');
  });
}

for (const [key, value] of [
  ['ids', '0'],
  ['ids', '65'],
  ['bucketSize', '3'],
  ['concurrency', '0'],
  ['neighbourhood', '2'],
  ['neighbourhood', '33'],
] as const) {
  test(`load: cluster.kademlia.${key} may not be ${value}`, () => {
    const problem = onlyProblem(`${plain}cluster: { kademlia: { ${key}: ${value} } }\n`);
    assert.equal(problem.path, `cluster.kademlia.${key}`);
  });
}

test('load: refuses an unknown key, and suggests the nearest known one', () => {
  const problem = onlyProblem(`${plain}cluster:\n  agents: 2\n  replica: 3\n`);
  assert.equal(problem.code, 'config-unknown-key');
  assert.deepEqual([problem.path, problem.line, problem.column], ['cluster.replica', 5, 3]);
  assert.match(problem.remedy, /"replicas"/);
  const unitless = onlyProblem(`${plain}politeness: { hostDelay: 3 }\n`);
  assert.match(unitless.remedy, /"hostDelayMs"/);
  const misplaced = onlyProblem(`${plain}threads: 3\n`);
  assert.match(misplaced.remedy, /agent\.threads/);
  const wild = onlyProblem(`${plain}storage: { zzzzzz: 3 }\n`);
  assert.match(wild.remedy, /durability/);
});

test('load: refuses keys such as __proto__ as unknown', () => {
  assert.equal(onlyProblem(`${plain}__proto__: { name: x }\n`).code, 'config-unknown-key');
  assert.equal(onlyProblem(`${plain}constructor: 1\n`).code, 'config-unknown-key');
  assert.equal(onlyProblem(`${plain}? [a, b]\n: 1\n`).code, 'config-unknown-key');
  assert.equal(onlyProblem(`${plain}7: 1\n`).line, 3);
});

test('load: reports all problems at once, in line order', () => {
  const problems = bad(`nam: x
seeds: [example.org, http://ok/]
seedFiles: [none.txt]
limits: { bodyBytes: 5MB }
cluster:
  agents:
    - { id: a1, listen: "tcp://127.0.0.1:7101", capacity: 0 }
    - { id: a1, listen: "tcp://*:7102" }
  failureDetector: { heartbeatMs: 4s }
archive: { wark: true }
`);
  assert.deepEqual(
    problems.map((problem) => [problem.line, problem.path]),
    [
      [1, 'nam'],
      [2, 'seeds[0]'],
      [3, 'seedFiles[0]'],
      [4, 'limits.bodyBytes'],
      [7, 'cluster.agents[0].capacity'],
      [8, 'cluster.agents[1].id'],
      [8, 'cluster.agents[1].listen'],
      // The rule points at the key that the file leaves at its default.
      [9, 'cluster.failureDetector.suspectAfterMs'],
      [10, 'archive.wark'],
    ],
  );
});

test('load: reports a missing seed together with other problems', () => {
  assert.deepEqual(
    bad('limits: { pages: 0 }').map((problem) => problem.path),
    ['seeds', 'limits.pages'],
  );
  assert.equal(onlyProblem('name: x').code, 'config-missing-key');
  assert.equal(onlyProblem('seeds: []').path, 'seeds');
});

test('load: --data overrides the file, and is relative to the working directory', () => {
  const cwd = newDirectory();
  fs.mkdirSync(path.join(cwd, 'conf'));
  const file = path.join(cwd, 'conf', 'c.yaml');
  fs.writeFileSync(file, `${plain}agent: { dataDir: ../state }\n`);
  const dataDirOf = (dataDir?: string) => {
    const loaded = loadConfig('conf/c.yaml', { cwd, dataDir });
    assert.ok(loaded.ok);
    assert.equal(loaded.config.file, file);
    return loaded.config.agent.dataDir;
  };
  assert.equal(dataDirOf(), path.join(cwd, 'state'));
  assert.equal(dataDirOf('mine'), path.join(cwd, 'mine'));
  assert.equal(dataDirOf('/abs'), '/abs');
});

test('load: warns of a user agent without a contact, and not of a valid config', () => {
  assert.deepEqual(warningsOf(plain), []);
  const [warning, ...more] = warningsOf('seeds: [http://h/]\nhttp: { userAgent: bot }\n');
  assert.match(warning ?? '', /crawl\.yaml:2:\d+: http\.userAgent: has no contact/);
  assert.deepEqual(more, []);
  assert.deepEqual(warningsOf('seeds: [http://h/]\nhttp: { userAgent: "b bot@h.org" }\n'), []);
});

test('load: loading writes nothing', () => {
  const cwd = newDirectory();
  fs.writeFileSync(path.join(cwd, 'c.yaml'), `${plain}cluster: { agents: 4 }\n`);
  assert.ok(loadConfig('c.yaml', { cwd }).ok);
  assert.deepEqual(fs.readdirSync(cwd), ['c.yaml']);
});

test('load: keeps the order of agents, and lets an address default to listen', () => {
  const loaded = load(`${plain}cluster:
  agents:
    - { id: 节点7, listen: "tcp://0.0.0.0:7101", address: "tcp://10.0.0.7:7101", capacity: 0.5 }
    - { id: crawl.eu-5, listen: "tcp://[::1]:7102" }
`);
  assert.ok(loaded.ok);
  assert.deepEqual(loaded.config.cluster.agents, [
    {
      id: '节点7',
      listen: 'tcp://0.0.0.0:7101',
      address: 'tcp://10.0.0.7:7101',
      capacity: 0.5,
    },
    { id: 'crawl.eu-5', listen: 'tcp://[::1]:7102', address: 'tcp://[::1]:7102', capacity: 1 },
  ]);
});

test('load: keeps the delays of single hosts by canonical host pattern', () => {
  const { politeness } = good(`${plain}
politeness: { hosts: { Bücher.example: { hostDelayMs: 5s }, "*.h": { hostDelayMs: 0 } } }
`);
  assert.deepEqual(politeness.hosts, {
    'xn--bcher-kva.example': { hostDelayMs: 5000 },
    '*.h': { hostDelayMs: 0 },
  });
  const problem = onlyProblem(`${plain}politeness: { hosts: { "h/x": { hostDelayMs: 1 } } }\n`);
  assert.match(problem.message, /host pattern/);
});

test('load: a wrong entry of politeness.hosts hides no other problem', () => {
  const entries = [
    '"a.test": { hostDelayMs: -5 }',
    '"b.test": {}',
    '"c.test": null',
    '"d.test": { hostDelayMs: 1s, crawl: 3 }',
  ];
  for (const entry of entries) {
    const text = `${plain}politeness: { hosts: { ${entry} } }\nscope: { include: 5 }\n`;
    const loaded = load(text);
    assert.ok(!loaded.ok, entry);
    const paths = loaded.problems.map(({ path: key }) => key.slice(0, 16));
    assert.deepEqual(paths, ['politeness.hosts', 'scope.include'], entry);
    for (const { message, remedy } of loaded.problems) {
      assert.ok(message && !remedy.endsWith(': '), `${entry}: ${message}; ${remedy}`);
    }
  }
});
