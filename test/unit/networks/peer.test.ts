import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { it } from 'node:test';
import { setImmediate as immediately } from 'node:timers/promises';
import { OpenFrames } from '../../../agent/networks/open-frames.ts';
import { Peer } from '../../../agent/networks/peer.ts';
import type { Frame, Pools } from '../../../agent/networks/pools.ts';

const settings = {
  ...{ network: 'a', networks: ['a', 'b'], seeds: 1, batch: 10 },
  ...{ onTimeout: 'wait' as const, timeoutMs: 1000, leaseMs: 3000 },
};

function peerWith(frames: OpenFrames, pools: Pools): Peer {
  return new Peer({
    ...{ settings, other: 'b', frames, leads: () => true, agent: 'a-1', token: 'a-1.1' },
    ...{ pools: new Map([['b', pools]]), wake: () => {} },
    sha256: (text) => createHash('sha256').update(text).digest('base64url'),
    onError: (error) => assert.fail(String(error)),
  });
}

/**
 * The verdict of network a on two URLs, while network b, without centre, has `marks`; its pools can
 * be read from `readableMs` on.
 */
async function verdictWith(marks: string | null, readableMs = 0, lapse = async () => true) {
  const frames = new OpenFrames(['b']);
  const base = { number: 'a/1', flag: 1 as const, origin: 'a-1', relay: 'a', sender: 'a-1.1' };
  frames.add({ ...base, network: 'a', digests: ['x', 'y'] }, '00', { mono: 0, wall: 0 });
  const [open] = frames.all();
  let mono = 0;
  const marksOf = async () => (mono < readableMs ? null : marks);
  const presence = async () => ({ hasCentre: false, mark: '' });
  const pools = { ask: async () => {}, presence, marksOf, lapse };
  const peer = peerWith(frames, pools as unknown as Pools);
  for (; !frames.isDecided(open!) && mono < 10_000; mono += 100) {
    peer.pump({ mono, wall: mono });
    await immediately();
  }
  return { ...frames.verdict(open!).verdict, mono };
}

it('peer: a claim counts until its network has had no centre for leaseMs', async () => {
  const { owners, isPartial, mono } = await verdictWith('0q');
  assert.deepEqual([owners, isPartial], [['', 'b'], false]);
  assert.ok(mono < settings.leaseMs);
});

it('peer: a claim that lapsed is removed, and makes the verdict partial', async () => {
  const removed: unknown[] = [];
  const lapse = async (...given: unknown[]) => removed.push(...given) > 0;
  const { owners, isPartial } = await verdictWith('0q', settings.leaseMs, lapse);
  assert.deepEqual([owners, isPartial, removed], [['', ''], true, [['y']]]);
});

it('peer: no claim lapses if the network has a centre again', async () => {
  const { owners, isPartial } = await verdictWith('0q', settings.leaseMs, async () => false);
  assert.deepEqual([owners, isPartial], [['', 'b'], false]);
});

it('peer: what a network has finished counts also after that', async () => {
  const { owners, finals, isPartial } = await verdictWith('0f', settings.leaseMs);
  assert.deepEqual([owners, finals, isPartial], [['', 'b'], '01', false]);
});

it('peer: without pools the verdict waits for leaseMs, and is partial; the lapse is counted', async () => {
  const removed: unknown[] = [];
  const lapse = async (...given: unknown[]) => removed.push(...given) > 0;
  const { owners, isPartial, mono } = await verdictWith(null, 0, lapse);
  assert.deepEqual([owners, isPartial, removed], [['', ''], true, [['x', 'y']]]);
  assert.ok(mono > settings.leaseMs);
});

it('peer: an answer, a question and the look for the centre share a round trip', () => {
  const frames = new OpenFrames(['b']);
  const base = { flag: 1 as const, origin: 'a-1', relay: 'a', sender: 'a-1.1' };
  const own = { ...base, number: 'a/1', network: 'a', digests: ['x'] };
  frames.add(own, '0', { mono: 0, wall: 0 });
  const sent: string[] = [];
  const never = (name: string) => new Promise<never>(() => sent.push(name));
  const pools = {
    ask: ({ number, flag }: Frame) => never(`${number} ${flag}`),
    presence: () => never('presence'),
  };
  const peer = peerWith(frames, pools as unknown as Pools);
  peer.answer({ ...own, number: 'b/1', network: 'b', flag: 3, marks: '0' });
  peer.pump({ mono: 0, wall: 0 });
  assert.deepEqual(sent.sort(), ['a/1 2', 'b/1 3', 'presence']);
});

it('peer: a look for the centre that shares a round trip may be early', async () => {
  const frames = new OpenFrames(['b']);
  const sent: [number, string][] = [];
  let mono = 0;
  const pools = {
    ask: async ({ number }: Frame) => void sent.push([mono, number]),
    presence: async () => {
      sent.push([mono, 'presence']);
      return { hasCentre: true, mark: '' };
    },
    marksOf: async () => null,
  };
  const peer = peerWith(frames, pools as unknown as Pools);
  const base = { flag: 1 as const, origin: 'a-1', relay: 'a', sender: 'a-1.1', network: 'a' };
  const add = (number: string) => {
    frames.add({ ...base, number, digests: [number] }, '0', { mono, wall: mono });
    peer.kick();
  };
  // The look is due 500 ms after the last, and half as long after it with a question.
  for (const [ms, number] of [
    [0, 'a/1'],
    [200, 'a/2'],
    [300, 'a/3'],
    [600, ''],
    [900, ''],
  ] as const) {
    mono = ms;
    if (number !== '') add(number);
    peer.pump({ mono, wall: mono });
    for (let i = 0; i < 3; i++) await immediately();
  }
  const looks = sent.filter(([, what]) => what === 'presence').map(([ms]) => ms);
  assert.deepEqual(looks, [0, 300, 900]);
});
