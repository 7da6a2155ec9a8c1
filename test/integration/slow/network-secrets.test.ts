// The passwords of Redis, from the environment or a URL, appear in no output and in no file. A crawl
// with a wrong password of another network ends.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { RedisProcess, withoutRedis } from '../../contract/networks/redis-process.ts';
import { start, until } from '../cli-process.ts';
import { assertCode, assertWhole, crawlOf } from '../cluster-stage.ts';

const [right, wrong, ofUrl] = ['s3cret-right', 's3cret-wrong', 's3cret-url'];

test('passwords of networks are never shown', { skip: withoutRedis }, async (t) => {
  const redis = await RedisProcess.start('--requirepass', right);
  const crawl = await crawlOf(t, 96, 1);
  const config = JSON.parse(fs.readFileSync(crawl.config, 'utf8')) as Record<string, object>;
  const write = (name: string, paris: string) =>
    crawl.scratch.write(name, {
      ...config,
      agent: { ...config.agent, dataDir: 'berlin' },
      dedup: {
        ...{ mode: 'redis', network: 'berlin', networks: { berlin: redis.url(), paris } },
        // At its start an agent waits so long for the refusal.
        ...{ timeoutMs: 1500, leaseMs: 5000 },
      },
    });
  const file = write('berlin.json', redis.url());
  const bad = write('bad.json', `redis://crawler:${ofUrl}@127.0.0.1:${redis.port}`);
  // The password of the other network is wrong, so that its failures are logged.
  const passwords = { DEDUP_PASSWORD_BERLIN: right, DEDUP_PASSWORD_PARIS: wrong };
  const said: string[] = [];
  const run = async (code: number, args: string[], more: NodeJS.ProcessEnv) => {
    const ended = await start(args, more).ended;
    assertCode(ended, code);
    said.push(ended.stdout, ended.stderr);
    return ended;
  };
  const refused = await run(5, ['launch', file], { DEDUP_PASSWORD_BERLIN: wrong });
  assert.match(refused.stderr, /DEDUP_PASSWORD_BERLIN/);
  await run(4, ['config', 'check', bad], {});
  await run(4, ['config', 'print', bad], {});
  await run(4, ['launch', bad], passwords);
  await run(0, ['config', 'print', file], passwords);
  const launch = start(['launch', file], passwords);
  const log = join(crawl.scratch.directory, 'berlin/a1/agent.log');
  const failure = /network paris: Redis at .*password or the user is wrong/;
  await until('the failure in the log', () => {
    return fs.existsSync(log) && failure.test(fs.readFileSync(log, 'utf8'));
  });
  await run(0, ['status', file, '--json'], {});
  // Without the leases of the hosts whose home is paris, the crawl goes on after two leases.
  const ended = await launch.ended;
  assertCode(ended, 0);
  assertWhole(crawl, 0);
  said.push(ended.stdout, ended.stderr);
  // A launch that Redis refuses deletes nothing, as if it were not fresh.
  const state = join(crawl.scratch.directory, 'berlin/a1/state.sqlite');
  const before = fs.statSync(state).ino;
  const anew = await run(5, ['launch', file, '--fresh'], { DEDUP_PASSWORD_BERLIN: wrong });
  assert.match(anew.stderr, /^network berlin: Redis at .*; set DEDUP_PASSWORD_BERLIN/);
  assert.equal(fs.statSync(state).ino, before);
  for (const name of fs.readdirSync(join(crawl.scratch.directory, 'berlin'), { recursive: true })) {
    const path = join(crawl.scratch.directory, 'berlin', String(name));
    if (fs.statSync(path).isFile()) said.push(fs.readFileSync(path, 'latin1'));
  }
  for (const text of said) assert.doesNotMatch(text, /s3cret/);
});
