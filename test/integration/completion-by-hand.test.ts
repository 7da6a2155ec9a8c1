// The agents record the completion of a crawl, no matter whether they were started by hand, by a
// service unit or by a launch that has ended.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { run, start, until } from './cli-process.ts';
import { metEachOther, stage } from './completion-by-hand-stage.ts';

test('agents started by hand record that the crawl is complete', async (context) => {
  const { gate, config, note } = await stage(context, 2);
  const agents = ['a1', 'a2'].map((id) => start(['agent', config, '--id', id]));
  const isUp = ({ stderr }: (typeof agents)[0]) => /agent is listening/.test(stderr());
  await until('both agents', () => agents.every(isUp));
  await metEachOther(config);
  await run('delay', config, 'nowhere.example', '2s');
  gate.open();
  for (const { code, stderr } of await Promise.all(agents.map(({ ended }) => ended))) {
    assert.equal(code, 0, stderr);
  }
  assert.deepEqual(note().agents, ['a1', 'a2']);
  const undelayed = await run('delay', config, 'nowhere.example', '--off');
  assert.equal(undelayed.code, 0, undelayed.stderr);
  assert.match(undelayed.stderr, /; the crawl stays complete; .* again:\n {2}.* --refresh/);
  const again = await run('launch', config);
  assert.equal(again.code, 0, again.stderr);
  assert.match(again.stderr, /the crawl is complete already/);
  const late = await run('pause', config);
  assert.equal(late.code, 1);
  const said =
    /^no agent is left to obey: the crawl is complete; .* again: ubiring launch .* --refresh$/;
  assert.match(late.stderr.trim(), said);
  const stop = await run('stop', config);
  assert.equal(stop.code, 1);
  assert.match(
    stop.stderr,
    /^the crawl is complete, and no agent runs on .*; there is nothing to /,
  );
  const written = fs.readFileSync(config, 'utf8').replace('cli-test', 'renamed');
  const renamed = path.join(path.dirname(config), 'renamed.json');
  fs.writeFileSync(renamed, written);
  for (const words of [
    ['status'],
    ['top'],
    ['pause'],
    ['stop'],
    ['seed', gate.seed],
    ['query', 'SELECT 1'],
  ]) {
    const refused = await run(words[0]!, renamed, ...words.slice(1));
    assert.equal(refused.code, 4, `${words[0]}: ${refused.stdout}${refused.stderr}`);
    assert.match(refused.stderr, /belongs to crawl 'cli-test', not 'renamed'; restore 'name:/);
  }
});
