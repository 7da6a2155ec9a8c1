// The tokens of the HTTP server are checked before anything is started or deleted.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { run, Scratch } from './cli-process.ts';

const shipped = path.resolve(import.meta.dirname, '../../config');
type Problem = { readonly message: string; readonly remedy: string };
const TOKEN = 'token-of-the-test-0123456789';

test('an agent that other machines can reach needs tokens', async (t) => {
  const scratch = new Scratch();
  t.after(() => scratch.clean());
  const monitor = { listen: '0.0.0.0:0' };
  const config = await scratch.config(1, { monitor });
  const nothing = await run('replay', config);
  assert.equal(nothing.code, 1);
  assert.match(nothing.stderr, /no agent has a state in .*; name another directory with --data/);
  const refused = await run('agent', config, '--id', 'a1');
  assert.equal(refused.code, 4, refused.stderr);
  assert.match(
    refused.stderr,
    /monitor\.listen 0\.0\.0\.0 can be reached from other machines, and there is no token/,
  );
  scratch.write('tokens.txt', `owner ${TOKEN}\n`);
  const wrong = await scratch.config(1, { monitor: { ...monitor, tokens: 'tokens.txt' } });
  const { code, stderr } = await run('agent', wrong, '--id', 'a1');
  assert.equal(code, 4);
  assert.match(stderr, /tokens\.txt: line 1 is not .*ROLE TOKEN/);
  assert.ok(!stderr.includes(TOKEN));

  // A launch that would fail deletes nothing, and `config check` shows the reason.
  fs.mkdirSync(`${scratch.dataDir}/a1`, { recursive: true });
  fs.writeFileSync(`${scratch.dataDir}/a1/agent.log`, 'kept');
  const launch = await run('launch', wrong, '--fresh');
  assert.equal(launch.code, 4, launch.stderr);
  assert.match(launch.stderr, /tokens\.txt: line 1 is not/);
  assert.equal(fs.readFileSync(`${scratch.dataDir}/a1/agent.log`, 'utf8'), 'kept');
  const check = await run('config', 'check', wrong);
  assert.equal(check.code, 4, check.stderr);
  assert.match(check.stderr, /tokens\.txt: line 1 is not/);
  assert.equal(check.stdout, '');
});

test('config check refuses the tokens that a launch refuses', async (t) => {
  const scratch = new Scratch();
  t.after(() => scratch.clean());
  scratch.write('empty.txt', '# none yet\n');
  scratch.write('short.txt', 'read short\n');
  const cases = [
    [{ listen: '0.0.0.0:0' }, /monitor\.listen 0\.0\.0\.0 can be reached .* no token; name a file/],
    [{ listen: '127.0.0.1:0', tokens: 'empty.txt' }, /empty\.txt has no token; write "ROLE TOKEN"/],
    [
      { listen: '127.0.0.1:0', tokens: 'none.txt' },
      /none\.txt'?; write "ROLE TOKEN" lines into it/,
    ],
    [{ listen: '127.0.0.1:0', tokens: '.' }, /EISDIR.*; name a file with "ROLE TOKEN" lines that/],
    [{ listen: '127.0.0.1:0', tokens: 'short.txt' }, /line 1: .*; write a longer one/],
  ] as const;
  for (const [monitor, why] of cases) {
    const config = await scratch.config(1, { monitor });
    for (const command of [['config', 'check'], ['launch']]) {
      const { code, stderr } = await run(...command, config);
      assert.equal(code, 4, stderr);
      assert.match(stderr, why);
    }
    const { code, stdout } = await run('config', 'check', config, '--json');
    assert.equal(code, 4, stdout);
    const { ok, problems } = JSON.parse(stdout) as { ok: boolean; problems: Problem[] };
    assert.equal(ok, false);
    assert.match(`${problems[0]!.message}; ${problems[0]!.remedy}`, why);
  }
  for (const file of ['empty.txt', 'none.txt']) {
    scratch.write(file, `read ${TOKEN}\n`);
    const config = await scratch.config(1, { monitor: { listen: '0.0.0.0:0', tokens: file } });
    assert.equal((await run('config', 'check', config)).code, 0);
  }
});

test('config check names the problems of the tokens with those of the config', async (t) => {
  const scratch = new Scratch();
  t.after(() => scratch.clean());
  const monitor = { listen: '127.0.0.1:0', tokens: 'none.txt' };
  const config = await scratch.config(1, { monitor, politness: {} });
  const { code, stderr } = await run('config', 'check', config);
  assert.equal(code, 4, stderr);
  assert.match(
    stderr,
    /politness: unknown key; did you mean .*\n.* monitor\.tokens: .*; write .*\n$/,
  );
  const { stdout } = await run('config', 'check', config, '--json');
  const { problems } = JSON.parse(stdout) as { problems: Problem[] };
  assert.deepEqual(
    problems.map(({ remedy }) => remedy),
    ['did you mean "politeness"?', 'write "ROLE TOKEN" lines into it'],
  );
});

test('the configs of the package are valid where nothing but the package is', async () => {
  for (const name of ['demo.yaml', 'example.yaml']) {
    const { code, stderr } = await run('config', 'check', path.join(shipped, name));
    assert.equal(code, 0, stderr);
  }
});
