import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { parse } from 'yaml';
import { loadConfig } from '../../../config/file/load.ts';
import { formatProblems } from '../../../config/file/problem.ts';
import { configJsonSchema, configKeys } from '../../../config/keys/json-schema.ts';
import { printConfig, shownConfig } from '../../../config/printed-config.ts';
import { at } from './printed-config-stage.ts';
import { bad, good, newDirectory, plain } from './written-config.ts';

const shipped = path.resolve(import.meta.dirname, '../../../config');

function loadShipped(name: string) {
  const loaded = loadConfig(name, { cwd: shipped });
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
  assert.deepEqual(loaded.warnings, []);
  return loaded.config;
}

/** The position of each key in a full config: line index, indentation and name. */
function placesOf(lines: readonly string[]) {
  return lines.flatMap((line, index) => {
    const match = /^(\s*(?:- )?)([A-Za-z]{3,}):(?: |$)/.exec(line);
    return match === null ? [] : [{ index, indent: match[1]!, key: match[2]! }];
  });
}

function mistyped(key: string, at: number, how: string): string {
  const [before, here, rest] = [key.slice(0, at), key[at]!, key.slice(at + 1)];
  if (how === 'double') return before + here + here + rest;
  if (how === 'drop') return before + rest;
  if (how === 'swap') return before + rest.slice(0, 1) + here + rest.slice(1);
  return before + (here === here.toLowerCase() ? here.toUpperCase() : here.toLowerCase()) + rest;
}

/** Keys that are printed with units and loaded as numbers. */
const sizes = ['limits.bodyBytes', 'archive.fileBytes'];

test('print: shows every key, but not the seeds of seed files', () => {
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

test('print: derived values are comments in plain words', () => {
  const lines = (text: string) => printConfig(good(text)).split('\n').slice(0, 2);
  const [from, lease] = lines('seeds: [http://a/]\n');
  assert.match(from!, /^# config from ".*", with 1 seed$/);
  assert.equal(lease, '# an agent requests pages for up to 6000 ms after news of the others');
  assert.match(lines('seeds: [http://a/, http://b/]\n')[0]!, /, with 2 seeds$/);
});

test('load: refuses a mistyped key at any depth, with its line and the intended key', () => {
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

test('json schema: describes every key, and allows no unknown ones', () => {
  const keys = configKeys();
  assert.ok(keys.length > 40);
  for (const key of keys) assert.match(key.description, /^\S.*\.$/, key.path);
  const schema = configJsonSchema();
  assert.equal(schema.additionalProperties, false);
  assert.equal(schema.properties?.limits?.additionalProperties, false);
  assert.equal(schema.properties?.limits?.properties?.bodyBytes?.default, '10MiB');
  assert.deepEqual(schema.required ?? [], []);
});

test('json schema: its defaults are those of a loaded config', () => {
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

test('ready-made: demo.yaml configures four agents on loopback', () => {
  const { cluster, agent, http, scope } = loadShipped('demo.yaml');
  assert.deepEqual(
    Array.isArray(cluster.agents) && cluster.agents.map(({ id, listen }) => `${id} ${listen}`),
    [1, 2, 3, 4].map((k) => `a${k} tcp://127.0.0.1:710${k}`),
  );
  assert.equal(agent.dataDir, path.resolve(shipped, '../data/demo'));
  assert.equal(http.allowPrivateAddresses, true);
  assert.deepEqual(scope.hosts, ['*']);
});

test('load: does not crash on any text', () => {
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

test('print: masks the password of a proxy, in YAML and in JSON', () => {
  const seeds = 'seeds: [https://example.org/]\n';
  const config = good(`${seeds}http: { proxy: "http://me:s%40cret@proxy.example:3128" }\n`);
  assert.match(printConfig(config), /proxy: http:\/\/me:\*{3}@proxy\.example:3128/);
  assert.equal(shownConfig(config).http.proxy, 'http://me:***@proxy.example:3128/');
  assert.equal(config.http.proxy, 'http://me:s%40cret@proxy.example:3128', 'the config keeps it');
  const open = good(`${seeds}http: { proxy: "http://me@proxy.example:3128" }\n`);
  assert.equal(shownConfig(open), open);
});
