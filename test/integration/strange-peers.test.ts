// What may come to an agent's port besides its peers: strangers with bytes of their own, agents of
// another version, agents with other settings. Played against the real command while it crawls: the
// crawl must come through unharmed, by the word of the web server, and whoever does not belong must
// be told why.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { run, start, until } from './cli-process.ts';
import { assertUnharmed, gateOf, scratchOf, webOf } from './strange-peers-stage.ts';

describe('strange peers', { concurrency: 2 }, () => {
  test('F50: an agent with other settings ends with 5, naming the key and both values', async (t) => {
    const [web, gate, scratch] = [await webOf(t, 47), await gateOf(t), scratchOf(t)];
    const file = await scratch.config(2, { seeds: [web.seed, gate.seed] });
    const other = JSON.parse(fs.readFileSync(file, 'utf8'));
    const differing = scratch.write('other.json', { ...other, limits: { depthPerHost: 7 } });
    const renamed = scratch.write('renamed.json', { ...other, name: 'news', limits: { pages: 7 } });
    const launch = start(['launch', file, '--agents', '1']);
    await until('the first requests', () => web.requests().length > 3);
    const { code, stderr } = await run('agent', differing, '--id', 'a2');
    assert.equal(code, 5, stderr);
    assert.match(stderr, /a1 refused this one: limits\.depthPerHost is 7 here and 16 there/);
    fs.rmSync(path.join(scratch.dataDir, 'a2'), { recursive: true });
    const stranger = await run('agent', renamed, '--id', 'a2');
    assert.equal(stranger.code, 5, stranger.stderr);
    assert.match(
      stranger.stderr,
      /a1 refused this one: name is \\*"news\\*" here and \\*"cli-test\\*" there/,
    );
    gate.open();
    const end = await launch.ended;
    assert.equal(end.code, 0, end.stderr);
    assertUnharmed(web);
  });
});
