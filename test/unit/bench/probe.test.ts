import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import { type ProfileNode, samplesByPart } from '../../../bench/main-thread-profile.ts';
import { readThread } from '../../../bench/probe-threads.ts';

const root = `file://${path.resolve(import.meta.dirname, '../../..')}`;

interface Call {
  readonly name: string;
  readonly url?: string;
  readonly hits?: number;
  readonly calls?: readonly Call[];
}

/** A profile with these calls from its root. */
function profile(...calls: readonly Call[]): ProfileNode[] {
  const nodes: ProfileNode[] = [];
  const add = ({ name, url = '', hits = 0, calls: inner = [] }: Call): number => {
    const id = nodes.length + 1;
    const children: number[] = [];
    const callFrame = { functionName: name, url };
    nodes.push({ id, callFrame, hitCount: hits, children });
    children.push(...inner.map(add));
    return id;
  };
  add({ name: '(root)', calls });
  return nodes;
}

const sqlite = `${root}/node_modules/better-sqlite3/lib/methods/wrappers.js`;
const store = `${root}/agent/storage/sqlite-store.ts`;

describe('bench: what an agent spends its time on', () => {
  it('bench: a sample in a library counts for the part of the agent that called it', () => {
    const got = { name: 'request', url: `${root}/node_modules/got/dist/index.js`, hits: 2 };
    const calls = [{ name: 'JSON.stringify', hits: 3 }, got];
    const frame = { name: 'encodeEnvelope', url: `${root}/agent/messaging/codec.ts`, calls };
    const turn = { name: 'turn', url: `${root}/agent/core/core.ts`, hits: 1, calls: [frame] };
    assert.deepEqual(samplesByPart(profile(turn)), { protocol: 1, frames: 5 });
  });

  it('bench: statements, commits and syncs are told apart', () => {
    const exec = { name: 'exec', url: sqlite, calls: [{ name: 'exec', hits: 4 }] };
    const flush = { name: 'flush', url: `${root}/agent/storage/tables/host-table.ts`, hits: 2 };
    const touch = { name: '#sync', url: store, calls: [{ name: 'run', hits: 5 }] };
    const commit = { name: 'commit', url: store, calls: [exec, flush, touch] };
    const begin = { name: 'begin', url: store, calls: [{ ...exec, hits: 1 }] };
    const samples = { commits: 4, syncs: 5, statements: 7 };
    assert.deepEqual(samplesByPart(profile(commit, begin)), samples);
  });

  it('bench: idle time does not count, and what no part called is Node or a library', () => {
    const zeromq = { name: 'receive', url: `${root}/node_modules/zeromq/lib/index.js`, hits: 1 };
    const samples = samplesByPart(
      profile(
        { name: '(idle)', hits: 1000 },
        { name: '(program)', hits: 2 },
        { name: '(garbage collector)', hits: 3 },
        { name: 'onStreamRead', url: 'node:internal/streams', hits: 4, calls: [zeromq] },
        { name: 'emit', url: `${root}/node_modules/got/dist/index.js`, hits: 5 },
      ),
    );
    assert.deepEqual(samples, { node: 6, collection: 3, messages: 1, fetching: 5 });
  });

  it('bench: reads kind and time of a thread, whatever its name contains', () => {
    const line = (name: string) => `7 (${name}) S 1 1 1 0 -1 4194624 4 0 0 0 16 23 0 0 20 0`;
    assert.deepEqual(readThread(line('MainThread')), { kind: 'main', ms: 390 });
    assert.deepEqual(readThread(line('ZMQbg/IO/0')), { kind: 'zeromq', ms: 390 });
    assert.deepEqual(readThread(line('archive-worker.')), { kind: 'archive', ms: 390 });
    assert.deepEqual(readThread(line('a) b (c')), { kind: 'other', ms: 390 });
  });
});
