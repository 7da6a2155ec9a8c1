import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { setImmediate as immediately } from 'node:timers/promises';
import { Rest } from '../../../../agent/networks/client/rest.ts';
import type { Pools } from '../../../../agent/networks/pools.ts';

const LEASE_MS = 6000;
/** Longer than between two readings, while the cluster is complete or not. */
const STEP_MS = 1000;

interface Server {
  mark: string;
  hasCentre: boolean;
  isDown: boolean;
}

/** An agent of berlin; the cluster completes if `subject.isDone` in a turn. */
function stage(onTimeout: 'proceed' | 'wait' = 'proceed') {
  const server = (): Server => ({ mark: '', hasCentre: true, isDown: false });
  const servers = { berlin: server(), paris: server() };
  const poolsOf = (at: Server) =>
    ({
      presence: async () => {
        if (at.isDown) throw new Error('refused');
        return { hasCentre: at.hasCentre, mark: at.mark };
      },
      mark: async (before: string, after: string) => {
        if (at.isDown) throw new Error('refused');
        if (at.mark === before) at.mark = after;
        return at.mark;
      },
    }) as Partial<Pools> as Pools;
  const state = { isDone: false, activities: 0, mono: 0 };
  const rest = new Rest({
    settings: {
      ...{ network: 'berlin', networks: ['berlin', 'paris'], seeds: 1, onTimeout, batch: 10 },
      ...{ timeoutMs: 500, leaseMs: LEASE_MS },
    },
    ...{ agent: 'a1', token: 'a1.1' },
    pools: new Map(Object.entries(servers).map(([name, at]) => [name, poolsOf(at)])),
    sha256: (text) => createHash('sha256').update(text).digest('base64url'),
    wake: () => {},
    onError: () => {},
    isDone: () => state.isDone,
    activity: () => void state.activities++,
  });
  /** Returns whether the network may end in the last turn. */
  const turns = async (count: number) => {
    let mayEnd = false;
    for (let i = 0; i < count; i++) {
      state.mono += STEP_MS;
      rest.pump({ mono: state.mono, wall: state.mono });
      for (let k = 0; k < 10; k++) await immediately();
      const before = state.activities;
      mayEnd = state.isDone && rest.mayEnd();
      assert.equal(state.activities, before);
    }
    return mayEnd;
  };
  return { rest, state, turns, ...servers };
}

describe('rest', () => {
  it('a network ends when it and all others are at rest', async () => {
    const { rest, state, turns, berlin, paris } = stage();
    await turns(2);
    assert.equal(state.activities, 1, 'it knows the mark now');
    state.isDone = true;
    assert.equal(await turns(9), false);
    assert.match(berlin.mark, /^rest a1\.1\//);
    assert.deepEqual(rest.awaited, ['paris']);
    assert.equal(state.activities, 1);
    paris.mark = 'rest p';
    assert.equal(await turns(3), true);
    assert.deepEqual(rest.awaited, []);
  });

  it('a mark that changes between the readings shows that the network has worked', async () => {
    const { state, turns, paris } = stage();
    await turns(2);
    state.isDone = true;
    await turns(4);
    for (let i = 0; i < 9; i++) {
      paris.mark = `rest ${i}`;
      assert.equal(await turns(1), false);
    }
    assert.equal(await turns(2), true);
  });

  it('it rests only if its cluster has completed since it knows the mark', async () => {
    const { state, turns, berlin, paris } = stage();
    paris.mark = 'rest p';
    await turns(2);
    state.isDone = true;
    berlin.mark = 'work gift';
    await turns(1);
    assert.equal(berlin.mark, 'work gift');
    await turns(1);
    assert.equal(state.activities, 2, 'the cluster must complete anew');
    assert.equal(await turns(4), true);
    assert.match(berlin.mark, /^rest/);
  });

  it('new work ends the rest, also that of an earlier process', async () => {
    const { state, turns, berlin } = stage();
    berlin.mark = 'rest earlier';
    await turns(2);
    assert.match(berlin.mark, /^work a1\.1\//);
    state.isDone = true;
    await turns(4);
    const { mark } = berlin;
    assert.match(mark, /^rest/);
    state.isDone = false;
    await turns(2);
    assert.match(berlin.mark, /^work/);
    state.isDone = true;
    await turns(4);
    assert.match(berlin.mark, /^rest/);
    assert.notEqual(berlin.mark, mark);
  });

  it('a network without centre is awaited for a lease', async () => {
    const { state, turns, paris } = stage('wait');
    paris.hasCentre = false;
    await turns(2);
    state.isDone = true;
    assert.equal(await turns(LEASE_MS / STEP_MS), false);
    assert.equal(await turns(5), true);
  });

  it('a Redis that does not answer is awaited for a lease, and with `wait` until it answers', async () => {
    for (const onTimeout of ['proceed', 'wait'] as const) {
      const { rest, state, turns, paris } = stage(onTimeout);
      paris.isDown = true;
      await turns(2);
      state.isDone = true;
      assert.equal(await turns(LEASE_MS / STEP_MS), false);
      assert.deepEqual(rest.awaited, ['paris']);
      assert.equal(await turns(9), onTimeout === 'proceed');
      Object.assign(paris, { isDown: false, hasCentre: false });
      if (onTimeout === 'wait') assert.equal(await turns(4), false, 'its centre may come back');
    }
  });

  it('without the own Redis the cluster must complete anew, because it may have got a gift', async () => {
    const { state, turns, berlin, paris } = stage();
    await turns(2);
    state.isDone = true;
    await turns(4);
    Object.assign(berlin, { mark: 'work gift', isDown: true });
    paris.mark = 'rest p';
    const before = state.activities;
    for (let ms = 0; ms < 2 * LEASE_MS && state.activities === before; ms += STEP_MS) {
      assert.equal(await turns(1), false);
    }
    assert.equal(state.activities, before + 1);
    // Another agent works on the gift.
    state.isDone = false;
    assert.equal(await turns(9), false);
    state.isDone = true;
    assert.equal(await turns(4), true);
  });
});
