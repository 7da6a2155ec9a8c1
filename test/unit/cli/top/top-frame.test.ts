import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { TopFrames } from '../../../../agent/cli/top/top-frame.ts';
import { placementOf } from '../../../../agent/composition/placement.ts';
import { agentStatus } from '../agent-status.ts';

const listen = 'tcp://127.0.0.1:1';
const cluster = {
  agents: ['a1', 'a2', 'a3'].map((id) => ({ id, listen, address: listen, capacity: 1 })),
  ...{ overlay: 'ring', replicas: 50, backups: 1, contacts: [] },
  failureDetector: { heartbeatMs: 500, suspectAfterMs: 5000 },
};
const config = {
  ...{ name: 'x', file: 'crawl.yaml', unplaced: [], strangers: [], agent: { dataDir: 'data' } },
  dedup: { mode: 'none' },
  cluster,
} as unknown as ResolvedConfig;

test('frames: the pages and the number of a silent agent remain in the totals', () => {
  const frames = new TopFrames(config);
  const a1 = agentStatus({ id: 'a1', pages: 10, pagesPerSecond: 2 });
  const a2 = agentStatus({ id: 'a2', pages: 30, pagesPerSecond: 4 });
  frames.next({ agents: [a1, a2], unreachable: [] }, 0);
  const { progress, rates } = frames.next({ agents: [a1], unreachable: ['a2'] }, 30_000);
  assert.deepEqual([progress.alive, progress.total, progress.pages], [1, 2, 40]);
  assert.deepEqual(rates('', 2), [6, 2]);
  assert.deepEqual(rates('a1', 2), [2, 2]);
  assert.deepEqual(rates('a2', 2), [null, null]);
  assert.deepEqual(frames.known, ['a1', 'a2']);
});

test('frames: sums the failures of the agents that answer, most first', () => {
  const agents = [
    agentStatus({ id: 'a1', failures: { dns: 1, '5xx': 1 } }),
    agentStatus({ id: 'a2', failures: { '5xx': 4, tls: 1 } }),
    agentStatus({ id: 'a3' }),
  ];
  const { failures } = new TopFrames(config).next({ agents, unreachable: [] }, 0);
  assert.deepEqual(failures, [
    ['5xx', 5],
    ['dns', 1],
    ['tls', 1],
  ]);
});

test('frames: the owner of a host is the first of the agents that answer, by their capacities', () => {
  const frames = new TopFrames(config);
  const member = (id: string, capacity: number) => ({ id, capacity }) as never;
  const a1 = agentStatus({ id: 'a1', members: [member('a2', 9)] });
  const a2 = agentStatus({ id: 'a2', members: [member('a1', 1)] });
  const hosts = Array.from({ length: 200 }, (_, k) => `h${k}.example`);
  const ownersOf = (agents: (typeof a1)[], unreachable: string[]) => {
    const { ownerOf } = frames.next({ agents, unreachable }, 0);
    return hosts.map((host) => ownerOf(host));
  };
  const members = [
    { id: 'a1', capacity: 1 },
    { id: 'a2', capacity: 9 },
  ];
  const placement = placementOf(cluster as never, members);
  const expected = hosts.map((host) => placement.order(host)[0]);
  assert.deepEqual(ownersOf([a1, a2], ['a3']), expected);
  assert.deepEqual(new Set(ownersOf([a1], ['a2', 'a3'])), new Set(['a1']));
});
