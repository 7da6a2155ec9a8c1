// Mistakes of a user before a crawl begins, with the real command. Each mistake gets the exit code
// of its kind and a message with its place and a remedy, and nothing is changed or deleted.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { freePort } from '../../bench/ports.ts';
import { scratchOf } from './bad-input-stage.ts';
import { call, listening, run, start, until } from './cli-process.ts';

const plain = 'seeds: [http://127.0.0.1:1/]\n';

/** Invalid configs, with the messages that they must cause. */
const wrongConfigs: readonly { name: string; text: string; says: readonly RegExp[] }[] = [
  {
    name: 'a mistyped key',
    text: `${plain}politeness:\n  hostDelay: 5s\n`,
    says: [/crawl\.yaml:3:3: politeness\.hostDelay: .*hostDelayMs/],
  },
  {
    name: 'a key that does not exist, beside a wrong unit',
    text: `${plain}colour: blue\nlimits:\n  bodyBytes: 10 parsecs\n`,
    says: [/crawl\.yaml:2:1: colour: /, /crawl\.yaml:4:\d+: limits\.bodyBytes: .*2MiB/],
  },
  {
    name: 'two agents with one identifier',
    text:
      `${plain}cluster:\n  agents:\n` +
      '    - { id: a1, listen: "tcp://127.0.0.1:7101" }\n' +
      '    - { id: a1, listen: "tcp://127.0.0.1:7102" }\n',
    says: [/crawl\.yaml:5:\d+: cluster\.agents\[1\]\.id: .*a1/],
  },
  {
    name: 'seeds that do not parse, one of them without a scheme',
    text: 'seeds:\n  - http://[broken/\n  - example.org\n  - ftp://example.org/\n',
    says: [
      /crawl\.yaml:2:\d+: seeds\[0\]: .*\[broken/,
      /crawl\.yaml:3:\d+: seeds\[1\]: .*write "https:\/\/example\.org"/,
      /crawl\.yaml:4:\d+: seeds\[2\]: .*not http or https/,
    ],
  },
  {
    name: 'a seed file with a bad line',
    text: 'seedFiles: [seeds.txt]\n',
    says: [/seeds\.txt:2:\d+: .*not a url/],
  },
  {
    name: 'a file that is not YAML',
    text: 'seeds: [http://a/\nname: "',
    says: [/crawl\.yaml:\d+/],
  },
  { name: 'an empty file', text: '', says: [/crawl\.yaml.*seeds/] },
];

describe('bad input', { concurrency: 4 }, () => {
  for (const { name, text, says } of wrongConfigs) {
    test(`launch: ends with 4 for ${name}, names place and remedy, and starts nothing`, async (t) => {
      const scratch = scratchOf(t);
      scratch.write('seeds.txt', 'http://127.0.0.1:1/\nnot a url\n');
      const { code, stdout, stderr } = await call(['launch', scratch.write('crawl.yaml', text)]);
      assert.deepEqual([code, stdout], [4, ''], stderr);
      for (const said of says) assert.match(stderr, said);
      assert.doesNotMatch(stderr, /^\s+at /m);
      assert.equal(fs.existsSync(scratch.dataDir), false);
    });
  }
});

describe('bad environment', { concurrency: 3 }, () => {
  test('launch and agent end with 5 and name the port if it is in use', async (t) => {
    const scratch = scratchOf(t);
    const port = await freePort();
    const cluster = { agents: [{ id: 'a1', listen: `tcp://127.0.0.1:${port}` }] };
    const config = scratch.write('crawl.json', { seeds: ['http://127.0.0.1:1/'], cluster });
    const server = await listening(port);
    t.after(() => server.close());
    for (const args of [
      ['launch', config],
      ['agent', config, '--id', 'a1'],
    ]) {
      const { code, stderr } = await run(...args);
      assert.equal(code, 5, stderr);
      assert.match(
        stderr,
        new RegExp(`^(a1: |.*"agent":"a1").*tcp://127\\.0\\.0\\.1:${port}.*in use`, 'm'),
      );
      assert.equal(stderr.split(`127.0.0.1:${port}`).length, 2, `named more than once: ${stderr}`);
    }
  });

  // Tests in containers run as root, whom permissions do not stop; a file in the path does.
  for (const where of ['file/data', '/proc/ubiring']) {
    const system = where.startsWith('/proc');
    const skip = system && process.platform !== 'linux' ? 'only Linux has /proc' : false;
    test(`launch and agent end with 4 and a remedy if the data directory (${where}) is not writable`, {
      skip,
    }, async (t) => {
      const scratch = scratchOf(t);
      const file = scratch.write('file', 'in the way');
      const dataDir = system ? where : path.join(path.dirname(file), where);
      const config = await scratch.config(1);
      for (const args of [
        ['launch', config],
        ['agent', config, '--id', 'a1'],
      ]) {
        const { code, stderr } = await run(...args, '--data', dataDir);
        assert.equal(code, 4, stderr);
        assert.ok(stderr.includes(dataDir), stderr);
        assert.match(stderr, /--data/);
        assert.doesNotMatch(stderr, /^\s+at /m);
      }
      assert.equal(fs.readFileSync(file, 'utf8'), 'in the way');
    });
  }

  test('a second process on a data directory ends with 4, and the first one continues', async (t) => {
    const scratch = scratchOf(t);
    const config = await scratch.config(1);
    const first = start(['agent', config, '--id', 'a1']);
    await until('the first agent', () => scratch.pid('a1') !== null);
    const pid = scratch.pid('a1');
    for (const args of [
      ['launch', config],
      ['launch', config, '--fresh'],
      ['agent', config, '--id', 'a1'],
    ]) {
      const { code, stderr } = await run(...args);
      assert.equal(code, 4, stderr);
      assert.match(stderr, /in use by a running agent/);
    }
    assert.deepEqual([scratch.pid('a1'), first.child.exitCode], [pid, null]);
    first.child.kill('SIGTERM');
    assert.equal((await first.ended).code, 0);
  });
});
