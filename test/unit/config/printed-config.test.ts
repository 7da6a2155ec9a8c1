import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import type { Config } from '../../../config/config.ts';
import { loadConfig } from '../../../config/file/load.ts';
import { formatProblems } from '../../../config/file/problem.ts';
import { configJsonSchema, configKeys } from '../../../config/keys/json-schema.ts';
import { printConfig, shownConfig } from '../../../config/printed-config.ts';
import { bad, good, newDirectory, plain } from './written-config.ts';

const shipped = path.resolve(import.meta.dirname, '../../../config');

function loadShipped(name: string) {
  const loaded = loadConfig(name, { cwd: shipped });
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
  assert.deepEqual(loaded.warnings, []);
  return loaded.config;
}

const linesOf = (text: string) => text.split('\n').slice(1);
const withoutFile = ({ file: _, ...rest }: Config) => rest;

const word = fc.stringMatching(/^[a-z][a-z0-9]{0,9}$/);
const duration = fc.oneof(
  fc.integer({ min: 30, max: 100_000 }),
  fc.integer({ min: 1, max: 99 }).map((n) => `${n}s`),
  fc.integer({ min: 30, max: 999 }).map((n) => `${n}ms`),
);
const optional = { requiredKeys: [] as [] };
/** Any valid config, with any of its keys left out. */
const anyConfig = fc.record(
  {
    seeds: fc.array(
      fc.tuple(word, fc.webPath()).map(([host, at]) => `http://${host}.example${at}`),
      { minLength: 1, maxLength: 4 },
    ),
    name: fc.string({ minLength: 1, maxLength: 30 }).filter((name) => !/\p{Cc}/u.test(name)),
    scope: fc.record(
      {
        hosts: fc.array(fc.constantFrom('*', '*.example', 'a.example', '10.0.0.1', '[::1]'), {
          minLength: 1,
          maxLength: 4,
        }),
        include: fc.array(fc.constantFrom('^https?:', '\\.html$', '[?&]a=', '# "x": y', "it's")),
        exclude: fc.array(fc.constantFrom('\\d{4}', '/a b/', 'null', '~', '- x')),
      },
      optional,
    ),
    urls: fc.record(
      {
        dropParameters: fc.array(fc.constantFrom('ref', 'utm_*', 'Größe', '"x"', "'", 'null')),
        dropTracking: fc.boolean(),
        dropSessions: fc.boolean(),
      },
      optional,
    ),
    links: fc.record({ embeds: fc.boolean() }, optional),
    limits: fc.record(
      {
        pagesPerHost: fc.integer({ min: 1, max: 1e9 }),
        depthPerHost: fc.integer({ min: 0, max: 100 }),
        pages: fc.option(fc.integer({ min: 1, max: 1e9 })),
        urlLength: fc.integer({ min: 16, max: 65_536 }),
        bodyBytes: fc.oneof(
          fc.integer({ min: 1, max: 1024 ** 3 }),
          fc.constantFrom('1MiB', '64KiB', '1.5MiB', '1GiB', '7B'),
        ),
      },
      optional,
    ),
    politeness: fc.record(
      {
        hostDelayMs: duration,
        ipDelayMs: duration,
        crawlDelayMaxMs: duration,
        robots: fc.boolean(),
      },
      optional,
    ),
    http: fc.record(
      {
        userAgent: fc.stringMatching(/^[A-Za-z][!-~]{0,40}$/),
        allowPrivateAddresses: fc.boolean(),
        client: fc.constantFrom('got', 'node'),
        timeouts: fc.record({ connectMs: duration, responseMs: duration }, optional),
      },
      optional,
    ),
    cluster: fc.record(
      {
        agents: fc.oneof(
          fc.integer({ min: 1, max: 9 }),
          fc
            .uniqueArray(
              fc.record(
                { id: word, capacity: fc.constantFrom(0.5, 1, 3) },
                { requiredKeys: ['id'] },
              ),
              { selector: (entry) => entry.id, minLength: 1, maxLength: 5 },
            )
            .map((entries) =>
              entries.map((entry, k) => ({ ...entry, listen: `tcp://127.0.0.1:${7101 + k}` })),
            ),
        ),
        replicas: fc.integer({ min: 1, max: 50 }),
        backups: fc.integer({ min: 0, max: 3 }),
        quorum: fc.constantFrom('none', 'majority'),
        failureDetector: fc.record({
          heartbeatMs: fc.integer({ min: 10, max: 500 }),
          suspectAfterMs: fc.constantFrom(1500, '2s', '1m'),
        }),
      },
      optional,
    ),
    agent: fc.record(
      { threads: fc.integer({ min: 1, max: 4096 }), dataDir: word.map((name) => `../${name}`) },
      optional,
    ),
    storage: fc.record({ durability: fc.constantFrom('power', 'process') }, optional),
    archive: fc.record({ warc: fc.boolean(), links: fc.boolean() }, optional),
  },
  { requiredKeys: ['seeds'] },
);

test('print: what is printed loads to the same config from another directory', () => {
  fc.assert(
    fc.property(anyConfig, fc.boolean(), (values, json) => {
      const config = good(json ? JSON.stringify(values) : stringify(values));
      const printed = printConfig(config);
      assert.deepEqual(withoutFile(good(printed)), withoutFile(config));
      // The first line names the file.
      assert.deepEqual(linesOf(printConfig(good(printed))), linesOf(printed));
    }),
    { numRuns: 150 },
  );
});

test('print: every key is shown, and seeds of files stay in their files', () => {
  const config = good('seeds: [http://a/]\nseedFiles: [s.txt]\n', {
    files: { 's.txt': 'http://b/\n' },
  });
  const printed = parse(printConfig(config));
  assert.deepEqual(printed.seeds, ['http://a/']);
  assert.deepEqual(printed.seedFiles, config.seedFiles);
  assert.deepEqual(good(printConfig(config)).seeds, ['http://a/', 'http://b/']);
  for (const { path: key } of configKeys()) {
    if (key.includes('[]')) continue;
    assert.notEqual(at(printed, key), undefined, key);
  }
});

/** Where each key of a full config stands: its path and 1-based line. */
function placesOf(lines: readonly string[]) {
  return lines.flatMap((line, index) => {
    const match = /^(\s*(?:- )?)([A-Za-z]{3,}):(?: |$)/.exec(line);
    return match === null ? [] : [{ index, indent: match[1]!, key: match[2]! }];
  });
}

test('load: a mistyped key at any depth is refused, with its line and the key meant', () => {
  const lines = printConfig(
    good(`${plain}cluster: { agents: [{ id: a, listen: "tcp://h:1" }] }\n`),
  ).split('\n');
  const places = placesOf(lines);
  assert.ok(places.length > 30);
  fc.assert(
    fc.property(
      fc.constantFrom(...places),
      fc.nat(),
      fc.constantFrom('double', 'drop', 'swap', 'case'),
      ({ index, indent, key }, at, how) => {
        const typo = mistyped(key, at % key.length, how);
        fc.pre(typo !== key && !configKeys().some((known) => known.path.endsWith(typo)));
        const text = lines.with(index, lines[index]!.replace(`${indent}${key}`, indent + typo));
        const problems = bad(text.join('\n'));
        const found = problems.find((problem) => problem.code === 'config-unknown-key');
        assert.ok(found);
        assert.equal(found.line, index + 1);
        assert.equal(found.column, indent.length + 1);
        assert.ok(found.path.endsWith(typo));
        assert.ok(found.remedy.includes(`"${key}"`), `${typo}: ${found.remedy}`);
      },
    ),
    { numRuns: 300 },
  );
});

function mistyped(key: string, at: number, how: string): string {
  const [before, here, rest] = [key.slice(0, at), key[at]!, key.slice(at + 1)];
  if (how === 'double') return before + here + here + rest;
  if (how === 'drop') return before + rest;
  if (how === 'swap') return before + rest.slice(0, 1) + here + rest.slice(1);
  return before + (here === here.toLowerCase() ? here.toUpperCase() : here.toLowerCase()) + rest;
}

function at(values: unknown, key: string): unknown {
  let value = values;
  for (const part of key.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

test('json schema: every key is described, and refuses what is unknown', () => {
  const keys = configKeys();
  assert.ok(keys.length > 40);
  for (const key of keys) assert.match(key.description, /^\S.*\.$/, key.path);
  const schema = configJsonSchema();
  assert.equal(schema.additionalProperties, false);
  assert.equal(schema.properties?.limits?.additionalProperties, false);
  assert.equal(schema.properties?.limits?.properties?.bodyBytes?.default, '10MiB');
  assert.deepEqual(schema.required ?? [], []);
});

/** Shown with their units, loaded as numbers. */
const sizes = ['limits.bodyBytes', 'archive.fileBytes'];

test('json schema: the defaults it names are those that load', () => {
  const config = good('seeds: [http://h/]');
  for (const key of configKeys()) {
    if (key.default === undefined || key.path.includes('[]')) continue;
    if (['seeds', 'agent.dataDir', ...sizes].includes(key.path)) continue;
    assert.deepEqual(at(config, key.path), key.default, key.path);
  }
});

test('ready-made: example.yaml has every key', () => {
  loadShipped('example.yaml');
  const text = parse(fs.readFileSync(path.join(shipped, 'example.yaml'), 'utf8'));
  for (const { path: key } of configKeys()) {
    const [outer, inner] = key.split('[].');
    const value = at(text, outer!);
    const found = inner === undefined ? value : at((value as unknown[])[0], inner);
    assert.notEqual(found, undefined, key);
  }
});

test('ready-made: example.yaml shows the defaults', () => {
  const { limits, politeness, http, cluster, agent, storage, archive } =
    loadShipped('example.yaml');
  const base = good('seeds: [http://h/]');
  assert.deepEqual(
    [limits, politeness, http.timeouts, storage, archive],
    [base.limits, base.politeness, base.http.timeouts, base.storage, base.archive],
  );
  assert.deepEqual({ ...cluster, agents: 1 }, base.cluster);
  assert.deepEqual({ ...agent, dataDir: '' }, { ...base.agent, dataDir: '' });
});

test('ready-made: demo.yaml is four agents on loopback', () => {
  const { cluster, agent, http, scope } = loadShipped('demo.yaml');
  assert.deepEqual(
    Array.isArray(cluster.agents) && cluster.agents.map(({ id, listen }) => `${id} ${listen}`),
    [1, 2, 3, 4].map((k) => `a${k} tcp://127.0.0.1:710${k}`),
  );
  assert.equal(agent.dataDir, path.resolve(shipped, '../data/demo'));
  assert.equal(http.allowPrivateAddresses, true);
  assert.deepEqual(scope.hosts, ['*']);
});

test('load: a config may be any file of at most a mebibyte without a crash', () => {
  const cwd = newDirectory();
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.json()), (text) => {
      fs.writeFileSync(path.join(cwd, 'x.yaml'), text);
      const loaded = loadConfig('x.yaml', { cwd });
      if (!loaded.ok) assert.ok(loaded.problems.length > 0);
    }),
    { numRuns: 300 },
  );
});

test('print: the password of a proxy is masked, in YAML and in what JSON is made of', () => {
  const seeds = 'seeds: [https://example.org/]\n';
  const config = good(`${seeds}http: { proxy: "http://me:s%40cret@proxy.example:3128" }\n`);
  assert.match(printConfig(config), /proxy: http:\/\/me:\*{3}@proxy\.example:3128/);
  assert.equal(shownConfig(config).http.proxy, 'http://me:***@proxy.example:3128/');
  assert.equal(config.http.proxy, 'http://me:s%40cret@proxy.example:3128', 'it is still used');
  const open = good(`${seeds}http: { proxy: "http://me@proxy.example:3128" }\n`);
  assert.equal(shownConfig(open), open);
});
