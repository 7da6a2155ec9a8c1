// Configs with a likely mistake: private hosts without `http.allowPrivateAddresses`, an empty
// --data, and paths or seeds with a tilde or a name in braces. The commands warn or refuse.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { run, Scratch } from './cli-process.ts';

test('config check and launch name the private hosts and the key that allows them', async (context) => {
  const scratch = new Scratch();
  context.after(() => scratch.clean());
  const file = await scratch.config(1, { seeds: ['http://127.0.0.1:1/', 'http://wiki.internal/'] });
  const { http, ...rest } = JSON.parse(fs.readFileSync(file, 'utf8'));
  const config = scratch.write('private.json', { ...rest, http: { userAgent: http.userAgent } });
  const warning =
    /2 of 2 seeds will be skipped, the first being "http:\/\/127\.0\.0\.1:1\/".*http\.allowPrivateAddresses/;

  const check = await run('config', 'check', config);
  assert.deepEqual([check.code, check.stdout.includes('is valid')], [0, true]);
  assert.match(check.stderr, warning);
  const { warnings } = JSON.parse((await run('config', 'check', config, '--json')).stdout);
  assert.ok(warnings.some((text: string) => warning.test(text)));
  assert.doesNotMatch((await run('config', 'check', file)).stderr, /will be skipped/);

  const launch = await run('launch', config);
  assert.equal(launch.code, 0, launch.stderr);
  assert.match(launch.stderr, warning);
  assert.match(
    launch.stdout,
    /2 URLs were skipped as blocked, for example on 127\.0\.0\.1: .*http\.allow/,
  );
});

test('an empty --data ends a command with 2 and changes nothing', async (context) => {
  const scratch = new Scratch();
  context.after(() => scratch.clean());
  const config = await scratch.config(1);
  for (const words of [
    ['launch', config],
    ['status', config],
    ['config', 'check', config],
  ]) {
    const { code, stderr } = await run(...words, '--data', '');
    assert.equal(code, 2, stderr);
    assert.match(stderr, /--data <dir>.*The path of a directory is expected/);
  }
  assert.equal(fs.existsSync(scratch.dataDir), false);
});

test('config check warns about a tilde or a name in braces in paths and seeds', async (context) => {
  const scratch = new Scratch();
  context.after(() => scratch.clean());
  const config = scratch.write(
    'tilde.yaml',
    'seeds: ["https://example.org/$' +
      '{SECTION}/"]\nagent: { dataDir: ~/crawl }\n' +
      'http: { userAgent: "t (+https://example.org/)" }\n',
  );
  const { code, stderr } = await run('config', 'check', config);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /seeds\[0\]: is used literally.*SECTION.*write it out/);
  assert.match(stderr, /agent\.dataDir: is used literally: "~\/crawl"/);
});
