import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { setImmediate as immediately } from 'node:timers/promises';
import { Gifts } from '../../../../agent/networks/client/gifts.ts';
import type { GivenUrl, Pools } from '../../../../agent/networks/pools.ts';

/** An agent of berlin with hosts of one URL each, whose other network is paris. */
function stage(hosts: readonly string[]) {
  const calls: string[] = [];
  const paris = { mark: 'rest p', hasCentre: true };
  const waiting: { id: string; urls: readonly GivenUrl[] }[] = [];
  const own: Partial<Pools> = {
    release: async (digests) => void calls.push(`release ${digests.length}`),
    gifts: async () => [...waiting],
    received: async (ids) => {
      calls.push(`received ${ids}`);
      waiting.splice(0, ids.length);
    },
  };
  const other: Partial<Pools> = {
    presence: async () => ({ ...paris }),
    mark: async (before, after) => {
      if (paris.mark === before) paris.mark = after;
      return paris.mark;
    },
    give: async (urls, mark) => {
      calls.push(`give ${urls.map(({ url }) => url)}`);
      paris.mark = mark;
    },
  };
  const state = { mark: '', isLeading: false, mono: 0, wakes: 0 };
  const gifts = new Gifts({
    settings: {
      ...{ network: 'berlin', networks: ['berlin', 'paris'], seeds: 1, batch: 10 },
      ...{ onTimeout: 'proceed' as const, timeoutMs: 500, leaseMs: 6000 },
    },
    ...{ agent: 'a1', token: 'a1.1' },
    pools: new Map([
      ['berlin', own as Pools],
      ['paris', other as Pools],
    ]),
    sha256: (text) => createHash('sha256').update(text).digest('base64url'),
    wake: () => void state.wakes++,
    onError: (error) => {
      throw error;
    },
    store: {
      spareHosts: () => hosts,
      give: (host, network) => {
        calls.push(`take ${host} for ${network}`);
        return [{ url: `${host}/`, depth: 1 }];
      },
      accept: (urls) => void calls.push(`accept ${urls.map(({ url }) => url)}`),
    },
    isLeading: () => state.isLeading,
    mark: () => state.mark,
  });
  const turn = async () => {
    state.mono += 1000;
    gifts.pump({ mono: state.mono, wall: state.mono });
    for (let k = 0; k < 10; k++) await immediately();
    return calls.splice(0);
  };
  return { gifts, state, paris, waiting, turn };
}

describe('gifts', () => {
  it('half of the hosts are given to a network at rest, once, and sent a turn later', async () => {
    const { gifts, paris, turn } = stage(['a', 'b', 'c', 'd']);
    assert.deepEqual(await turn(), []);
    assert.match(paris.mark, /^work gift a1\.1\//, 'no other agent gives');
    assert.deepEqual(await turn(), ['take c for paris', 'take d for paris']);
    assert.deepEqual(await turn(), ['release 2', 'give c/,d/']);
    assert.deepEqual(gifts.counts(), { given: 2, received: 0 });
    assert.deepEqual(await turn(), [], 'it is not at rest');
    paris.mark = 'rest again';
    assert.deepEqual((await turn()).concat(await turn()), ['take a for paris', 'take b for paris']);
    await turn();
    paris.mark = 'rest again and again';
    assert.deepEqual((await turn()).concat(await turn(), await turn()), []);
    assert.equal(paris.mark, 'rest again and again', 'its rest does not end for nothing');
  });

  it('an agent with one host, and a network that works or is gone: nothing is given', async () => {
    const few = stage(['a']);
    assert.deepEqual((await few.turn()).concat(await few.turn()), []);
    assert.equal(few.paris.mark, 'rest p');
    for (const change of [{ mark: 'work w' }, { hasCentre: false }]) {
      const { paris, turn } = stage(['a', 'b', 'c']);
      Object.assign(paris, change);
      assert.deepEqual((await turn()).concat(await turn(), await turn()), []);
    }
  });

  it('an agent that is no centre any more leaves its gifts to the next one, and rests', async () => {
    const { state, waiting, turn } = stage([]);
    Object.assign(state, { isLeading: true, mark: 'work gift' });
    waiting.push({ id: '1-1', urls: [{ url: 'x/', depth: 1 }] });
    await turn();
    assert.deepEqual(await turn(), ['accept x/']);
    state.isLeading = false;
    assert.deepEqual([...(await turn()), ...(await turn())], []);
    const { wakes } = state;
    for (let k = 0; k < 4; k++) await turn();
    assert.ok(state.wakes - wakes < 4, 'each turn wakes the agent again');
  });

  it('the centre accepts gifts, and removes them when they are stored', async () => {
    const { gifts, state, waiting, turn } = stage([]);
    waiting.push({ id: '1-0', urls: [{ url: 'x/', depth: 2 }] });
    assert.deepEqual((await turn()).concat(await turn()), [], 'it is not the centre');
    state.isLeading = true;
    assert.deepEqual(await turn(), []);
    assert.deepEqual(await turn(), ['accept x/']);
    assert.deepEqual(await turn(), ['received 1-0']);
    waiting.push({ id: '2-0', urls: [] });
    const unseen = (await turn()).concat(await turn(), await turn());
    assert.deepEqual(unseen, [], 'the mark announces gifts');
    state.mark = 'work gift b/2';
    assert.deepEqual((await turn()).concat(await turn(), await turn()), [
      'accept ',
      'received 2-0',
    ]);
    assert.equal(gifts.counts().received, 1);
  });
});
