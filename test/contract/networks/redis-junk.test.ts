import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connected, verdictOf } from './networks-stage.ts';
import { RedisProcess, withoutRedis } from './redis-process.ts';

/** Texts that no agent writes. `good` is a frame or verdict as JSON. */
const junkLike = (good: string) => ['', '7', '[]', '{}', '"x"', good.slice(1)];

describe('what another program wrote into the pools', { skip: withoutRedis }, async () => {
  if (withoutRedis) return;
  const server = await RedisProcess.start();
  let crawls = 0;
  const newPools = async () => {
    const pools = await connected({ url: server.url(), crawl: `crawl${++crawls}` });
    await pools.setFilled();
    await pools.lead('t', 60_000);
    return pools;
  };
  const taskPool = () => `ubiring:{crawl${crawls}/berlin}:task_pool:a1`;

  test('entries that are no verdicts are deleted, and do not keep back the others', async () => {
    const pools = await newPools();
    const good = JSON.stringify(verdictOf('n', 1));
    for (const wrong of junkLike(good)) {
      await pools.link.call(['XADD', taskPool(), '*', 'v', wrong]);
    }
    await pools.link.call(['XADD', taskPool(), '*', 'v', good]);
    const looks = [];
    for (let look = 0; look < 4; look++) looks.push(await pools.verdicts('a1', '', 2));
    const numbers = looks.map((found) => found.map(({ verdict }) => verdict.number));
    assert.deepEqual(numbers, [[], [], [], ['n']]);
    assert.equal(await pools.link.call(['XLEN', taskPool()]), 1);
  });
});
