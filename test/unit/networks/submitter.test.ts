import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { setImmediate as immediately } from 'node:timers/promises';
import type { Frame, Pools, VerdictFrame } from '../../../agent/networks/pools.ts';
import { Submitter, type Verdict } from '../../../agent/networks/submitter.ts';

const at = (ms: number) => ({ mono: ms, wall: ms });

function subject(
  onTimeout: 'proceed' | 'wait' = 'proceed',
  slice?: { begin(): void; mayGoOn(): boolean },
) {
  const log = {
    frames: [] as Frame[],
    verdicts: [] as VerdictFrame[],
    decided: [] as [string, Verdict][],
    released: [] as string[],
    claimsMissing: 0,
    stored: [] as string[],
    elsewhere: [] as string[],
    isDown: false,
    isBusy: false,
    isIdle: false,
    wants: true,
    queued: 0,
    sends: 0,
    looks: 0,
    wakes: 0,
  };
  const pools = {
    submit: async (frame: Frame) => {
      if (log.isDown) throw new Error('refused');
      log.frames.push(frame);
    },
    verdicts: async (_: string, after: string) => {
      log.looks++;
      if (log.isDown) throw new Error('refused');
      const all = log.verdicts.map((verdict, i) => ({ id: String(i + 1), verdict }));
      return all.slice(Number(after));
    },
  } as unknown as Pools;
  const submitter = new Submitter({
    settings: {
      ...{ network: 'a', networks: ['a', 'b'], seeds: 1, onTimeout, timeoutMs: 500, batch: 2 },
      leaseMs: 3000,
    },
    ...{ agent: 'a-1', token: 'a-1.1', pools: new Map([['a', pools]]) },
    sha256: (text) => createHash('sha256').update(text).digest('base64url'),
    ...(slice && { slice }),
    wake: () => log.wakes++,
    onError: () => {},
    store: {
      more: (max) => log.stored.slice(0, max),
      elsewhere: (after, max) => {
        const from = after === null ? 0 : log.elsewhere.indexOf(after) + 1;
        return log.elsewhere.slice(from, from + max);
      },
      decide: (identity, verdict) => {
        log.decided.push([identity, verdict]);
        log.stored = log.stored.filter((each) => each !== identity);
        return log.wants;
      },
      isIdle: () => log.isIdle || (log.elsewhere.length > 0 && !log.isBusy),
      queued: () => log.queued,
    },
    release: (identity) => log.released.push(identity),
    sends: () => log.sends++,
    claimsMissing: () => log.claimsMissing++,
  });
  const turn = async (ms: number) => {
    submitter.pump(at(ms));
    await immediately();
    submitter.pump(at(ms));
  };
  const answer = (number: string, ...owners: string[]) =>
    log.verdicts.push({ number, owners, finals: owners.map(() => '1').join(''), isPartial: false });
  const claimed = (number: string, owner: string) =>
    log.verdicts.push({ number, owners: [owner], finals: '0', isPartial: false });
  return { submitter, log, turn, answer, claimed };
}

/** The verdict of two URLs has arrived, and a turn has time for one of them. */
async function splitVerdict() {
  let left = 0;
  const slice = { begin: () => (left = 1), mayGoOn: () => left-- > 0 };
  const stage = subject('proceed', slice);
  stage.submitter.offer(['x', 'y'], at(0));
  await stage.turn(0);
  const verdict = { number: 'a/a-1.1/1', owners: ['', ''], finals: '00', isPartial: false };
  stage.submitter.arrived(verdict);
  return { ...stage, verdict };
}

describe('submitter', () => {
  it('a full batch is sent at once, a smaller one when it has waited', async () => {
    const { submitter, log, turn } = subject();
    submitter.offer(['x', 'y'], at(0));
    await turn(0);
    assert.equal(log.frames.length, 1);
    assert.equal(log.frames[0]!.number, 'a/a-1.1/1');
  });

  it('the more URLs of a batch there are to visit, the longer URLs wait for others', async () => {
    const { submitter, log, turn } = subject();
    log.queued = 2;
    submitter.offer(['x'], at(0));
    await turn(0);
    assert.equal(submitter.nextAtMs(), 4000);
    await turn(3999);
    assert.equal(log.frames.length, 0);
    log.queued = 1;
    assert.equal(submitter.nextAtMs(), 2050);
    log.queued = 0;
    assert.equal(submitter.nextAtMs(), 100);
    await turn(3999);
    assert.equal(log.frames.length, 1);
  });

  it('a frame is sent with a look for verdicts, and is told to the centre before', async () => {
    const { submitter, log } = subject();
    submitter.offer(['x', 'y'], at(0));
    submitter.pump(at(0));
    assert.deepEqual([log.sends, log.frames.length, log.looks], [1, 1, 1]);
  });

  it('tells since when URLs wait, in a frame or for one', async () => {
    const { submitter, turn } = subject();
    const since = (url: string) => submitter.askingSince((identity) => identity === url);
    submitter.offer(['u', 'v', 'w'], at(5));
    assert.deepEqual([since('v'), since('x')], [5, null]);
    await turn(9);
    assert.deepEqual([since('v'), since('w')], [9, 9]);
  });

  it('a verdict of the centre in this process counts at once, and once', async () => {
    const { submitter, log, turn } = subject();
    submitter.offer(['x', 'y'], at(0));
    await turn(0);
    const verdict = { number: 'a/a-1.1/1', owners: ['', 'b'], finals: '01', isPartial: false };
    submitter.arrived(verdict);
    await turn(1);
    assert.deepEqual([log.decided.length, log.looks], [2, 1]);
    log.verdicts.push(verdict);
    submitter.offer(['z', 'y'], at(2));
    await turn(2);
    assert.deepEqual([log.decided.length, log.looks], [2, 2]);
  });

  it('the verdict decides each URL', async () => {
    const { submitter, log, turn, answer } = subject();
    submitter.offer(['x', 'y'], at(0));
    await turn(0);
    answer('a/a-1.1/1', '', 'b');
    await turn(100);
    assert.deepEqual(log.decided, [
      ['x', { kind: 'new', isPartial: false }],
      ['y', { kind: 'elsewhere', network: 'b', isFinal: true }],
    ]);
    assert.equal(submitter.isQuiet, true);
  });

  it('a verdict whose URLs need several turns is decided once, and its frame is open meanwhile', async () => {
    const { submitter, log, verdict } = await splitVerdict();
    const wakes = log.wakes;
    submitter.pump(at(60_000));
    assert.deepEqual([log.decided.length, submitter.isQuiet], [1, false]);
    assert.ok(log.wakes > wakes, 'the next turn follows at once');
    // Neither the end of the wait for a verdict nor another copy of it changes that.
    submitter.arrived(verdict);
    submitter.pump(at(60_000));
    submitter.pump(at(60_001));
    assert.deepEqual(
      log.decided.map(([identity, verdict]) => [
        identity,
        verdict.kind === 'new' && verdict.isPartial,
      ]),
      [
        ['x', false],
        ['y', false],
      ],
    );
    assert.deepEqual([submitter.counts().verdicts, log.claimsMissing], [1, 0]);
  });

  it('a URL that waits again while its verdict is decided is sent again', async () => {
    const { submitter, log, turn } = await splitVerdict();
    submitter.pump(at(1));
    // Its host was deleted and found again.
    log.stored = ['x'];
    submitter.offer(['x'], at(1));
    submitter.pump(at(2));
    await turn(5000);
    assert.equal(log.frames.length, 2);
  });

  it('a URL of a repeated frame that waits again is sent once Redis answers again', async () => {
    const { submitter, log, turn } = subject();
    log.elsewhere = ['x'];
    await turn(0);
    assert.equal(log.frames.length, 1, 'it asks again');
    log.isDown = true;
    // It was given up and queued again.
    log.elsewhere = [];
    log.stored = ['x'];
    submitter.offer(['x'], at(1));
    for (let ms = 500; ms <= 10_000; ms += 500) await turn(ms);
    log.isDown = false;
    for (let ms = 20_000; ms <= 40_000; ms += 500) await turn(ms);
    assert.ok(log.decided.length > 0 || log.frames.length > 1);
  });

  it('an agent whose repeated question found new URLs asks for the next although it has work', async () => {
    const { submitter, log, turn, answer } = subject();
    log.elsewhere = ['s', 't', 'u', 'v', 'w', 'x', 'y', 'z'];
    await turn(0);
    assert.equal(log.frames.length, 2);
    log.isBusy = true;
    // New URLs of its own wait for others, to share a frame.
    log.queued = 2;
    submitter.offer(['a'], at(1));
    answer('a/a-1.1/1', 'b', '');
    answer('a/a-1.1/2', 'b', 'b');
    for (const ms of [100, 200, 300]) await turn(ms);
    assert.equal(log.frames.length, 3);
    answer('a/a-1.1/3', 'b', 'b');
    for (const ms of [400, 500, 600]) await turn(ms);
    assert.deepEqual(
      log.decided.map(([url]) => url),
      ['s', 't', 'u', 'v', 'w', 'x'],
    );
    // None was new: it goes on when it has no work.
    assert.equal(log.frames.length, 3);
  });

  it('a URL that another network has claimed is asked for again soon, after a long time without any', async () => {
    const { submitter, log, turn, claimed } = subject();
    log.isIdle = true;
    for (let ms = 0; ms < 20_000; ms += 50) await turn(ms);
    submitter.offer(['x'], at(20_000));
    for (const ms of [20_100, 20_200]) await turn(ms);
    claimed(log.frames.at(-1)!.number, 'b');
    log.elsewhere = ['x'];
    for (let ms = 20_300; ms < 20_500; ms += 50) await turn(ms);
    assert.equal(log.frames.length, 2);
  });

  it('an agent without work asks again in several frames at a time, for each URL once a round', async () => {
    const { log, turn, answer } = subject();
    log.elsewhere = Array.from({ length: 11 }, (_, k) => `url ${k}`);
    for (let ms = 0; ms < 10; ms++) await turn(ms);
    assert.equal(log.frames.length, 4);
    for (const k of [1, 2, 3]) answer(`a/a-1.1/${k}`, 'b', 'b');
    for (let ms = 100; ms < 110; ms++) await turn(ms);
    assert.deepEqual(
      log.frames.map(({ digests }) => digests.length),
      [2, 2, 2, 2, 2, 1],
    );
    assert.equal(new Set(log.frames.flatMap(({ digests }) => digests)).size, 11);
  });

  it('a URL whose first question is open is not asked for again', async () => {
    const { submitter, log, turn } = subject();
    log.elsewhere = ['a', 'b', 'c', 'd', 'e', 'f'];
    submitter.pump(at(0));
    submitter.offer(['c', 'd'], at(0));
    for (let ms = 0; ms < 5; ms++) await turn(ms);
    const asked = log.frames.flatMap(({ digests }) => digests);
    assert.deepEqual([asked.length, new Set(asked).size], [6, 6]);
  });

  it('while nothing changes, the pauses between rounds grow up to leaseMs; then they are short again', async () => {
    const { log, turn, answer, claimed } = subject();
    log.elsewhere = ['x'];
    const asked: number[] = [];
    for (let ms = 0; ms < 7500; ms++) {
      await turn(ms);
      if (log.frames.length === asked.length) continue;
      asked.push(ms);
      const { number } = log.frames.at(-1)!;
      if (ms < 5000) claimed(number, 'b');
      else answer(number, 'b');
    }
    const pauses = asked.slice(1).map((ms, k) => ms - asked[k]!);
    assert.deepEqual(pauses.slice(0, 7), [47, 94, 188, 375, 750, 1500, 3000]);
    assert.ok(pauses.length > 7 && pauses.slice(7).every((ms) => ms < 750), pauses.join());
  });

  it('a verdict for other URLs, or with a network that does not exist, is ignored', async () => {
    const { submitter, log, turn, answer } = subject();
    submitter.offer(['x', 'y'], at(0));
    await turn(0);
    answer('a/a-1.1/1');
    answer('a/a-1.1/1', '', 'mars');
    await turn(300);
    assert.deepEqual(log.decided, []);
    answer('a/a-1.1/1', '', 'b');
    await turn(600);
    assert.equal(log.decided.length, 2);
  });

  it('without verdict a frame is sent again under its number', async () => {
    const { submitter, log, turn } = subject();
    submitter.offer(['x', 'y'], at(0));
    await turn(0);
    await turn(1000);
    assert.deepEqual(
      log.frames.map(({ number }) => number),
      ['a/a-1.1/1', 'a/a-1.1/1'],
    );
  });

  it('a URL that is not wanted any more is released', async () => {
    const { submitter, log, turn, answer } = subject();
    log.wants = false;
    submitter.offer(['x', 'y'], at(0));
    await turn(0);
    answer('a/a-1.1/1', '', 'b');
    await turn(100);
    assert.deepEqual(log.released, ['x']);
  });

  it('reads from the store what does not fit into memory', async () => {
    const { submitter, log, turn, answer } = subject();
    const urls = Array.from({ length: 30 }, (_, i) => `u${i}`);
    log.stored = [...urls];
    submitter.offer(urls, at(0));
    for (let ms = 0; log.decided.length < urls.length && ms < 20_000; ms += 200) {
      await turn(ms);
      for (const { number, digests } of log.frames.splice(0))
        answer(number, ...digests.map(() => ''));
    }
    assert.deepEqual(log.decided.map(([url]) => url).sort(), [...urls].sort());
  });

  it('with `proceed` it decides alone when Redis is away, with `wait` it does not', async () => {
    for (const onTimeout of ['proceed', 'wait'] as const) {
      const { submitter, log, turn } = subject(onTimeout);
      log.isDown = true;
      submitter.offer(['x', 'y'], at(0));
      for (let ms = 0; ms <= 600; ms += 100) await turn(ms);
      const expected = onTimeout === 'proceed' ? 2 : 0;
      assert.equal(log.decided.length, expected);
      assert.equal(log.claimsMissing > 0, onTimeout === 'proceed');
    }
  });
});
