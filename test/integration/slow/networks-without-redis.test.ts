// An agent starts while the Redis of its network is away. With `proceed` it crawls, and ends when
// the Redis has its reports; with `wait` it fetches no page until the Redis is there.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePorts } from '../../../bench/ports.ts';
import { RedisProcess, withoutRedis } from '../../contract/networks/redis-process.ts';
import { call, listening, Scratch, start, until } from '../cli-process.ts';
import { assertCode, assertWhole, crawlOf } from '../cluster-stage.ts';

for (const [second, onTimeout] of [
  [94, 'proceed'],
  [95, 'wait'],
] as const) {
  test(`an agent starts without its Redis: ${onTimeout}`, { skip: withoutRedis }, async (t) => {
    const redis = await RedisProcess.start();
    await redis.stop();
    const crawl = await crawlOf(t, second, 1);
    const config = JSON.parse(fs.readFileSync(crawl.config, 'utf8')) as Record<string, object>;
    const file = crawl.scratch.write('berlin.json', {
      ...config,
      agent: { ...config.agent, dataDir: 'berlin' },
      dedup: {
        ...{ mode: 'redis', network: 'berlin', networks: { berlin: redis.url() } },
        ...{ onTimeout, timeoutMs: 300, leaseMs: 1000 },
      },
    });
    const launch = start(['launch', file]);
    if (onTimeout === 'proceed') await crawl.served(60);
    else {
      const log = join(crawl.scratch.directory, 'berlin/a1/agent.log');
      await until('the failure in the log', () => {
        return fs.existsSync(log) && fs.readFileSync(log, 'utf8').includes('ECONNREFUSED');
      });
      const status = await call(['status', file]);
      assert.match(status.stdout, /^network berlin; centre: none of these agents$/m);
      assert.match(status.stdout, /^network berlin: Redis at .*: ECONNREFUSED \(for .*: a1\)$/m);
      assert.match(status.stdout, / ago {2}a1 {2}network berlin: Redis at .*: ECONNREFUSED$/m);
      assert.equal(crawl.web.requests().length, 0);
    }
    await redis.start();
    assertCode(await launch.ended, 0);
    assertWhole(crawl, 0);
  });
}

test('a launch that is refused has written nothing to the Redis of its network', async (t) => {
  const scratch = new Scratch();
  const [port] = await freePorts(1);
  const redis = await listening(port!);
  t.after(() => {
    scratch.clean();
    redis.close();
  });
  let connections = 0;
  redis.on('connection', (socket) => {
    connections++;
    socket.destroy();
  });
  const networks = { berlin: `redis://127.0.0.1:${port}` };
  const dedup = { mode: 'redis', network: 'berlin', networks, timeoutMs: 300, leaseMs: 1000 };
  const config = await scratch.config(1, { dedup });
  fs.mkdirSync(join(scratch.dataDir, 'a1'), { recursive: true });
  fs.writeFileSync(join(scratch.dataDir, 'a1/letter.txt'), 'x');
  const { code, stderr } = await call(['launch', config, '--fresh']);
  assert.match(stderr, /a1 is not an agent's directory: it is not deleted; move it away/);
  assert.deepEqual([code, connections], [4, 0]);
});
