import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Announcement } from '../../../agent/networks/redis/announcement.ts';
import type { RedisPools } from '../../../agent/networks/redis/redis-pools.ts';
import {
  connected,
  crawlsAt,
  digest,
  digests,
  entryOf,
  frameOf,
  verdictOf,
} from './networks-stage.ts';
import { RedisProcess, withoutRedis } from './redis-process.ts';

/** All keys, in order. */
async function keysOf(pools: RedisPools): Promise<string[]> {
  return ((await pools.link.call(['KEYS', '*'])) as string[]).sort();
}

describe('pools in Redis', { skip: withoutRedis }, async () => {
  if (withoutRedis) return;
  const server = await RedisProcess.start();
  const { crawl, newPools } = crawlsAt(server.url());

  const keyOf = async (pools: RedisPools, name: string) =>
    (await keysOf(pools)).find((key) => {
      return key.includes(`${encodeURIComponent(crawl())}/berlin}`) && key.endsWith(`:${name}`);
    })!;

  test('a submitted frame is taken until it is claimed, oldest first', async () => {
    const pools = await newPools();
    await pools.lead('t', 60_000);
    const frames = [1, 2, 3].map((n) => frameOf(`berlin/a1.7/${n}`, digests(2, `s${n}`)));
    for (const frame of frames) await pools.submit(frame);
    const first = await pools.take(2, 2);
    assert.deepEqual(
      first.submitted.map(({ frame }) => frame),
      frames.slice(0, 2),
    );
    assert.deepEqual(first.inbox, []);
    assert.deepEqual(await pools.take(2, 2), first);
    await pools.claim('other', first.submitted[0]!);
    assert.deepEqual(await pools.take(2, 2), first);
    await pools.claim('t', first.submitted[0]!);
    const rest = await pools.take(10, 10);
    assert.deepEqual(
      rest.submitted.map(({ frame }) => frame),
      frames.slice(1),
    );
    assert.deepEqual((await pools.take(0, 10)).submitted, []);
    // The first one again, whose claim is kept.
    await pools.submit(frames[0]!);
    for (const entry of (await pools.take(10, 10)).submitted) await pools.claim('t', entry);
    assert.deepEqual((await pools.take(10, 10)).submitted, []);
    assert.equal((await pools.openFrames()).length, 3);
  });

  test('a frame that is sent again is not added again while it waits', async () => {
    const pools = await newPools();
    await pools.lead('t', 60_000);
    const [first, second] = [1, 2].map((n) => frameOf(`berlin/a1.7/${n}`, digests(2, `s${n}`)));
    for (const frame of [first!, second!, first!, second!]) await pools.submit(frame);
    const { submitted } = await pools.take(10, 10);
    assert.deepEqual(
      submitted.map(({ frame }) => frame),
      [first, second],
    );
    // A centre whose claim was executed late may not know of the first.
    await pools.claim('t', submitted[0]!);
    for (const frame of [first!, second!, first!]) await pools.submit(frame);
    assert.deepEqual(
      (await pools.take(10, 10)).submitted.map(({ frame }) => frame),
      [second, first],
    );
    // The stream was lost, for example because it was at its maximum length.
    await pools.link.call(['DEL', await keyOf(pools, 'URL_pool')]);
    await pools.submit(second!);
    assert.equal((await pools.take(10, 10)).submitted.length, 1);
  });

  test('keys of a wrong type are deleted, so the next attempt succeeds', async () => {
    const pools = await newPools();
    const prefix = (await keyOf(pools, 'server')).slice(0, -'server'.length);
    const run = pools.link.serverRun;
    const frame = frameOf('n', digests(1));
    const verdict = { number: 'n', owners: [''], finals: '0', isPartial: false };
    const ask = [{ host: 'h', delayMs: 5 }];
    const operations: Record<string, () => Promise<unknown>> = {
      [`${run}:URL_pool`]: () => pools.submit(frame),
      [`${run}:submitted`]: () => pools.submit(frame),
      [`${run}:inbox`]: () => pools.ask(frame),
      'task_pool:a1': () => pools.verdicts('a1', '0', 9),
      [`${run}:dist_reduce_pool`]: () => pools.openFrames(),
      [`${run}:gifts`]: () => pools.gifts(9),
      [`${run}:doubted`]: () => pools.doubted(9),
      [`${run}:filled_by`]: () => pools.addFilled('a1'),
      [`${run}:task_URL:00`]: () => pools.hold([`AA${'A'.repeat(19)}A`]),
      'finish_URL:00': () => pools.finish([`AA${'A'.repeat(19)}A`]),
      'lease:h': () => pools.acquire('berlin', ask, 5000, 'g'),
      'queue:h': async () => {
        await pools.acquire('paris', ask, 5000, 'g');
        await pools.acquire('berlin', ask, 5000, 'g');
      },
    };
    await pools.lead('t', 60_000);
    for (const [key, operation] of Object.entries(operations)) {
      await pools.link.call(['DEL', `${prefix}${key}`]);
      await pools.link.call(
        key.includes('lease') ? ['LPUSH', `${prefix}${key}`, 'x'] : ['SET', `${prefix}${key}`, 'x'],
      );
      const said = /a key of the crawl was written by another program, and is deleted/;
      await assert.rejects(operation(), said, key);
      await operation();
    }
    assert.equal(await pools.settle('t', 'a1', verdict, []), true);
  });

  test('a network that runs with other settings is refused', async () => {
    const [crawl, url] = ['other crawl', server.url()];
    const settings = (leaseMs: number, ...networks: string[]) =>
      JSON.stringify({ dedup: { networks, leaseMs } });
    const with2 = settings(6000, 'berlin', 'paris');
    const berlin = await connected({ url, crawl, settings: with2 });
    const asked = async (text: string) =>
      (await connected({ url, crawl, settings: text })).presence();
    assert.equal((await asked(settings(9000))).hasCentre, false, 'it does not run');
    await new Announcement(berlin, 'a', async () => true).make(60_000);
    await asked(with2);
    const lease = /berlin runs with dedup.leaseMs 6000, this network with 9000; write the same in/;
    await assert.rejects(asked(settings(9000, 'berlin', 'paris')), lease);
    await berlin.lead('t', 60_000);
    await assert.rejects(asked(settings(6000, 'berlin', 'paris', 'rome')), /dedup.networks/);
    await berlin.resign('t');
    await asked(settings(9000));
  });

  test('questions and answers are taken from the inbox once, in order', async () => {
    const pools = await newPools();
    const list = digests(3);
    const question = frameOf('paris/a1.1/1', list, { flag: 2, network: 'paris', relay: 'paris' });
    const answer = frameOf('berlin/a1.1/1', list, { flag: 3, relay: 'paris', marks: '0qf' });
    await pools.ask(question);
    await pools.ask(answer);
    assert.deepEqual(await pools.take(10, 1), { submitted: [], inbox: [question] });
    assert.deepEqual((await pools.take(10, 10)).inbox, [answer]);
    assert.deepEqual((await pools.take(10, 10)).inbox, []);
  });

  test('entries that are no frames are deleted, and do not keep back the others', async () => {
    const pools = await newPools();
    await pools.submit(frameOf('n', digests(1)));
    const stream = await keyOf(pools, 'URL_pool');
    const good = JSON.stringify(frameOf('m', digests(1)));
    for (const wrong of [
      '',
      '7',
      '[]',
      '{}',
      good.replace('"flag":1', '"flag":4'),
      good.slice(1),
    ]) {
      await pools.link.call(['XADD', stream, '*', 'f', wrong]);
    }
    assert.deepEqual((await pools.take(100, 100)).submitted.length, 1);
    assert.equal(await pools.link.call(['XLEN', stream]), 1);
  });

  test('a claim gives the marks before it, and may be repeated', async () => {
    const pools = await newPools();
    const list = digests(3);
    await pools.finish([list[2]!]);
    assert.equal(await pools.lead('a1.7', 60_000), true);
    assert.equal(await pools.claim('a1.7', entryOf('n', list)), '00f');
    assert.equal(await pools.marksOf(list), 'qqf');
    assert.equal(await pools.claim('a1.7', entryOf('n', list)), '00f');
    assert.equal(await pools.claim('a1.7', entryOf('m', list)), 'qqf');
    const open = (await pools.openFrames()).toSorted((a, b) => (a.number < b.number ? -1 : 1));
    const kept = ['qqf', '00f'].map((marks, k) => frameOf('mn'[k]!, list, { marks }));
    assert.deepEqual(open, kept);
  });

  test('a verdict ends a frame, and conceded digests are not claimed any more', async () => {
    const pools = await newPools();
    const list = digests(3);
    await pools.lead('a1.7', 60_000);
    await pools.claim('a1.7', entryOf('n', list));
    const verdict = { ...verdictOf('n', 3, true), owners: ['', 'paris', 'rome'], finals: '001' };
    assert.equal(await pools.settle('a1.7', 'a2', verdict, list.slice(1)), true);
    assert.equal(await pools.marksOf(list), 'q00');
    assert.deepEqual(await pools.openFrames(), []);
    assert.deepEqual(
      (await pools.verdicts('a2', '', 10)).map((one) => one.verdict),
      [verdict],
    );
    assert.deepEqual(await pools.verdicts('a1', '', 10), []);
  });

  test('verdicts are read in order, and deleted once the next ones are read', async () => {
    const pools = await newPools();
    await pools.lead('t', 60_000);
    for (const n of ['1', '2', '3']) {
      await pools.claim('t', entryOf(n, digests(1)));
      await pools.settle('t', 'a1', verdictOf(n, 1), []);
      // A frame that is settled gets no second verdict.
      assert.equal(await pools.settle('t', 'a1', verdictOf(n, 1), []), true);
    }
    const numbers = async (after: string, max = 10) =>
      (await pools.verdicts('a1', after, max)).map(({ verdict }) => verdict.number);
    const [first, second] = await pools.verdicts('a1', '', 2);
    assert.deepEqual(await numbers('', 2), ['1', '2']);
    assert.deepEqual(await numbers(first!.id), ['2', '3']);
    assert.deepEqual(await numbers(second!.id, 1), ['3']);
    assert.deepEqual(await numbers(''), ['3']);
  });

  test('verdicts are read although the clock of Redis was set back', async () => {
    const pools = await newPools();
    const stream = `ubiring:{${encodeURIComponent(crawl())}/berlin}:task_pool:a1`;
    await pools.link.call(['XADD', stream, '5-0', 'v', JSON.stringify(verdictOf('1', 1))]);
    await pools.link.call(['XADD', stream, '6-0', 'v', JSON.stringify(verdictOf('2', 1))]);
    assert.equal((await pools.verdicts('a1', '1764225600000-3', 10)).length, 2);
    assert.equal((await pools.verdicts('a1', '5-0', 10)).length, 1);
  });

  test('a long frame is claimed and settled in several executions', async () => {
    const pools = await newPools();
    const list = digests(2500);
    await pools.finish(list.slice(1000, 1002));
    await pools.lead('t', 60_000);
    const before = pools.link.commands;
    const marks = await pools.claim('t', entryOf('n', list));
    assert.equal(marks, `${'0'.repeat(1000)}ff${'0'.repeat(1498)}`);
    assert.deepEqual(await pools.openFrames(), [frameOf('n', list, { marks: marks! })]);
    assert.ok(
      !(await keysOf(pools)).some(
        (key) =>
          key.includes(`${encodeURIComponent(crawl())}/berlin}`) &&
          key.endsWith('local_reduce_pool'),
      ),
    );
    await pools.settle('t', 'a1', verdictOf('n', 2500), list);
    assert.equal(await pools.marksOf(list), `${'0'.repeat(1000)}ff${'0'.repeat(1498)}`);
    assert.equal((await pools.verdicts('a1', '', 10)).length, 1);
    // Scripts are sent as a whole at first: at most one command more for each of the four.
    assert.ok(pools.link.commands - before <= 3 + 1 + 3 + 3 + 1 + 1 + 4);
  });

  test('a long claim that is broken off and repeated gives the same marks', async () => {
    const pools = await newPools();
    const list = digests(1500);
    await pools.lead('t', 60_000);
    const run = pools.link.run.bind(pools.link);
    let runs = 0;
    pools.link.run = (script, keys, args) =>
      ++runs === 2 ? Promise.reject(new Error('cut')) : run(script, keys, args);
    await assert.rejects(pools.claim('t', entryOf('n', list)), /cut/);
    pools.link.run = run;
    assert.deepEqual(await pools.openFrames(), []);
    const local = (await keysOf(pools)).find(
      (key) =>
        key.includes(`${encodeURIComponent(crawl())}/berlin}`) && key.endsWith('local_reduce_pool'),
    );
    assert.deepEqual(await pools.link.call(['HKEYS', local!]), ['n']);
    // Other frames find its claims; it finds its own marks.
    assert.equal(await pools.claim('t', entryOf('m', list.slice(999, 1001))), 'q0');
    const marks = `${'0'.repeat(1000)}q${'0'.repeat(499)}`;
    assert.equal(await pools.claim('t', entryOf('n', list)), marks);
    assert.equal(await pools.link.call(['EXISTS', local!]), 0);
    assert.equal((await pools.openFrames()).length, 2);
  });

  test('a settled page is finished and no longer claimed; a given up one is neither', async () => {
    const pools = await newPools();
    const list = digests(3);
    await pools.lead('t', 60_000);
    await pools.claim('t', entryOf('n', list));
    await pools.finish([list[0]!]);
    await pools.release([list[1]!]);
    assert.equal(await pools.marksOf(list), 'f0q');
    const claims = (await keysOf(pools)).filter(
      (k) => k.includes(`${encodeURIComponent(crawl())}/`) && /task_URL/.test(k),
    );
    assert.equal(claims.length, 1);
  });

  test('pools that are not filled give no marks, and name who has filled them', async () => {
    const pools = await connected({ url: server.url(), crawl: 'empty' });
    await pools.finish(digests(1));
    assert.equal(await pools.marksOf(digests(1)), null);
    assert.deepEqual(await pools.filledBy(), []);
    await pools.addFilled('a1');
    await pools.addFilled('a2');
    await pools.addFilled('a1');
    assert.deepEqual((await pools.filledBy())?.toSorted(), ['a1', 'a2']);
    await pools.setFilled();
    assert.equal(await pools.filledBy(), null);
    assert.equal(await pools.marksOf(digests(1)), 'f');
  });

  test('what is queued is claimed again, but not what is finished', async () => {
    const pools = await newPools();
    const list = digests(3);
    await pools.finish([list[0]!]);
    await pools.hold(list.slice(0, 2));
    assert.equal(await pools.marksOf(list), 'fq0');
    const claims = (await keysOf(pools)).filter((key) =>
      key.includes(`${encodeURIComponent(crawl())}/`),
    );
    assert.equal(claims.filter((key) => key.includes('task_URL')).length, 1);
  });

  test('claims are doubted until they have been examined, and at most 1,000 at once', async () => {
    const pools = await newPools();
    const urls = Array.from({ length: 1200 }, (_, i) => `http://a.test/${i}`);
    assert.deepEqual(await pools.doubted(5), []);
    await pools.doubt(urls.slice(0, 2));
    await pools.doubt(urls.slice(0, 2));
    assert.deepEqual((await pools.doubted(5)).toSorted(), urls.slice(0, 2));
    assert.equal((await pools.doubted(1)).length, 1);
    await pools.examined([urls[0]!, urls[9]!]);
    assert.deepEqual(await pools.doubted(5), [urls[1]]);
    await pools.doubt(urls);
    assert.equal((await pools.doubted(2000)).length, 1000);
  });

  test('empty lists cost nothing', async () => {
    const pools = await newPools();
    await pools.finish([]);
    const before = pools.link.commands;
    await pools.finish([]);
    await pools.release([]);
    await pools.hold([]);
    assert.equal(await pools.marksOf([]), '');
    assert.deepEqual(await pools.acquire('berlin', [], 1000, 'g'), []);
    await pools.releaseHosts('berlin', []);
    assert.equal(pools.link.commands, before);
  });

  test('the mark changes only from the one that is known, and a claim ends the rest', async () => {
    const pools = await newPools();
    const [first, second] = [digests(1), digests(2).slice(1)];
    const markOf = async () => (await pools.presence()).mark;
    assert.equal(await markOf(), '');
    assert.equal(await pools.mark('', 'work 1'), 'work 1');
    assert.equal(await pools.mark('', 'rest 1'), 'work 1');
    await pools.lead('t', 60_000);
    await pools.claim('t', entryOf('n1', first));
    assert.equal(await markOf(), 'work 1');
    assert.equal(await pools.mark('work 1', 'rest 1'), 'rest 1');
    await pools.setFilled();
    assert.equal(await pools.marksOf(first), '0', 'a claim of a network at rest is void');
    await pools.claim('t', entryOf('n2', second));
    assert.equal(await markOf(), 'work n2');
    assert.equal(await pools.marksOf(second), 'q');
  });

  test('gifts are kept until they are received, and forbid rest', async () => {
    const pools = await newPools();
    const urls = [{ url: 'http://a/', depth: 1, referrer: 'http://b/', sitemap: true }];
    await pools.give(urls, 'work gift 1');
    await pools.give([{ url: 'http://c/', depth: 0 }], 'work gift 2');
    assert.equal(await pools.mark('work gift 2', 'rest 1'), 'work gift 2');
    const gifts = await pools.gifts(9);
    assert.deepEqual(
      gifts.map((gift) => gift.urls),
      [urls, [{ url: 'http://c/', depth: 0 }]],
    );
    assert.deepEqual(await pools.gifts(1), gifts.slice(0, 1));
    await pools.received([gifts[0]!.id], 'work received 1');
    assert.equal(await pools.mark('work received 1', 'rest 2'), 'work received 1');
    await pools.received([gifts[1]!.id], 'work received 2');
    assert.equal(await pools.mark('work received 2', 'rest 3'), 'rest 3');
  });

  test('every key has the tag of its crawl, and expires', async () => {
    const pools = await newPools();
    const list = digests(20);
    await pools.submit(frameOf('n', list));
    await pools.ask(frameOf('n', list, { flag: 2 }));
    await pools.lead('t', 60_000);
    await pools.claim('t', entryOf('n', list));
    await pools.finish(list.slice(0, 5));
    await pools.settle('t', 'a1', verdictOf('n', 20), []);
    await pools.claim('t', entryOf('m', list));
    await pools.setFilled();
    await pools.doubt(['http://a.test/']);
    await pools.acquire('berlin', [{ host: 'h', delayMs: 0 }], 1000, 'g');
    await pools.acquire('paris', [{ host: 'h', delayMs: 0 }], 1000, 'g');
    const keys = (await keysOf(pools)).filter((key) =>
      key.includes(`${encodeURIComponent(crawl())}/`),
    );
    const run = /:[0-9a-f]{40}:/;
    const plain = keys.map((key) =>
      key.replace(`ubiring:{${encodeURIComponent(crawl())}/`, '').replace(run, ':'),
    );
    const shards = plain.filter((key) => /^berlin\}:(finish|task)_URL:[0-9a-f]{2}$/.test(key));
    assert.deepEqual(
      plain.filter((key) => !shards.includes(key)),
      [
        'berlin}:URL_pool',
        'berlin}:centre',
        'berlin}:dist_reduce_pool',
        'berlin}:doubted',
        'berlin}:filled',
        'berlin}:home',
        'berlin}:inbox',
        'berlin}:settings',
        'berlin}:lease:h',
        'berlin}:queue:h',
        'berlin}:server',
        'berlin}:task_pool:a1',
      ],
    );
    assert.ok(shards.length >= 20);
    for (const key of keys) assert.ok(Number(await pools.link.call(['PTTL', key])) > 0, key);
    const filled = Number(await pools.link.call(['PTTL', keys.find((k) => k.endsWith('filled'))!]));
    for (const key of keys.filter((k) => k.includes('_URL:'))) {
      assert.ok(Number(await pools.link.call(['PTTL', key])) > filled, key);
    }
  });

  test('a shard is where the first byte of its digests says', async () => {
    const pools = await newPools();
    const list = digests(50);
    await pools.finish(list);
    for (const one of list) {
      const shard = Buffer.from(one, 'base64url').subarray(0, 1).toString('hex');
      const key = `ubiring:{${encodeURIComponent(crawl())}/berlin}:finish_URL:${shard}`;
      assert.equal(await pools.link.call(['SISMEMBER', key, one]), 1);
    }
  });

  test('crawls and networks in one Redis do not meet', async () => {
    const berlin = await newPools();
    const paris = await connected({
      url: server.url(),
      crawl: crawl(),
      network: 'paris',
    });
    await paris.setFilled();
    const other = await newPools();
    await berlin.finish([digest(1)]);
    assert.equal(await paris.marksOf([digest(1)]), '0');
    assert.equal(await other.marksOf([digest(1)]), '0');
  });

  test('scripts that the server has forgotten run all the same', async () => {
    const pools = await newPools();
    await pools.lead('t', 60_000);
    await pools.claim('t', entryOf('n', digests(1)));
    await pools.link.call(['SCRIPT', 'FLUSH']);
    assert.equal(await pools.claim('t', entryOf('m', digests(2))), 'q0');
    const before = pools.link.commands;
    assert.equal(await pools.claim('t', entryOf('l', digests(2))), 'qq');
    assert.equal(pools.link.commands, before + 1);
  });

  test('what is no digest, and lists that are too long, are refused', async () => {
    const pools = await newPools();
    const refused = { name: 'AssertionError' };
    for (const list of [['x'], ['x'.repeat(22)], ['*'.repeat(22)], digests(1).concat('')]) {
      await assert.rejects(pools.finish(list), refused);
      await assert.rejects(pools.submit(frameOf('n', list)), refused);
    }
    await assert.rejects(pools.finish(digests(10_001)), refused);
    await assert.rejects(pools.take(0, 0), refused);
    await assert.rejects(
      pools.acquire('n', Array(10_001).fill({ host: 'h', delayMs: 0 }), 1000, 'g'),
      refused,
    );
    await assert.rejects(pools.verdicts('a1', '7', 1), refused);
    await assert.rejects(pools.claim('t', { ...entryOf('n', digests(1)), id: '*' }), refused);
  });
});
