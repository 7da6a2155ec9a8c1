import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { programName } from '../../../../agent/cli/common/output.ts';
import {
  CopyLags,
  type Problem,
  problemsOf,
  type Watched,
} from '../../../../agent/cli/top/problems.ts';
import type { AgentStatus } from '../../../../agent/monitor/agent-status.ts';
import { agentStatus } from '../agent-status.ts';
import { networksStatus } from '../networks-status.ts';

const dashboard = path.resolve(import.meta.dirname, '../../../../agent/dashboard/dashboard.js');
const ids = ['a1', 'a2', 'a3'];
const listen = 'tcp://127.0.0.1:1';
const config = {
  ...{ file: 'crawl.yaml', unplaced: [], strangers: [], agent: { dataDir: 'data' } },
  cluster: {
    agents: ids.map((id) => ({ id, listen, address: listen, capacity: 1 })),
    ...{ backups: 1, contacts: [], failureDetector: { heartbeatMs: 500, suspectAfterMs: 5000 } },
  },
} as unknown as ResolvedConfig;

function problems(
  parts: readonly Partial<AgentStatus>[],
  more: { unreachable?: string[]; left?: string[]; orders?: never } & Partial<Watched> = {},
): string[] {
  const found = foundIn(parts, more);
  // npm, which may run this test, changes the name.
  return found.map(({ text, remedy }) => `${text} -> ${remedy}`.replace(programName(), 'ubiring'));
}

function foundIn(...[parts, more = {}]: Parameters<typeof problems>): Problem[] {
  const agents = parts.map((part, k) => agentStatus({ id: ids[k]!, ...part }));
  const { unreachable = [], lagging = [], unreadable = [], ...rest } = more;
  return problemsOf({ agents, unreachable, ...rest }, { lagging, unreadable }, config);
}

test('problems: none in a cluster that works', () => {
  assert.deepEqual(problems([{ copyLag: 7, loopDelayMs: 400 }, {}, {}]), []);
});

test('problems: an agent that does not answer, or has left, with its start command', () => {
  assert.deepEqual(problems([{}, {}], { unreachable: ['a3'] }), [
    'a3 does not answer -> if it does not run, start it on its machine: ubiring agent crawl.yaml --id a3',
  ]);
  assert.deepEqual(problems([{}, {}], { left: ['a3'] }), [
    'a3 has left -> remove it from the config, or start it: ubiring agent crawl.yaml --id a3',
  ]);
});

test('problems: too few agents for the copies, and copies that do not catch up', () => {
  const [, few] = problems([{}], { unreachable: ['a2'] });
  assert.match(few!, /^each host has 0 of 1 copies: too few agents run -> start the agents/);
  const member = { id: 'a2' } as never;
  assert.deepEqual(problems([{ members: [member] }]), [], 'another machine has a2');
  assert.deepEqual(problems([{ joined: false }]), [], 'the agents start');
  const [behind] = problems([{ copyLag: 7 }, {}, {}], { lagging: ['a1'] });
  assert.match(behind!, /^copies of 7 hosts of a1 do not catch up -> look for a slow disk/);
  const [one] = problems([{ copyLag: 1 }, {}, {}], { lagging: ['a1'] });
  assert.match(one!, /^copies of 1 host of a1 do not catch up -> /);
});

test('problems: a pause of all or of some agents, and a directive that has not reached one', () => {
  const paused = { paused: true };
  const [all] = problems([paused, paused]);
  assert.equal(all, 'the crawl is paused -> resume it: ubiring resume crawl.yaml');
  const orders = [
    { kind: 'pause', host: '', missing: ['a2'] },
    { kind: 'threads', host: '*', missing: ['a1', 'a2'] },
    { kind: 'block', host: '*', missing: ['a2'] },
  ] as never;
  const [some, missed, threads, block] = problems([paused, {}], { orders });
  assert.match(some!, /^only a1 is paused -> /);
  assert.match(missed!, /^pause has not reached a2 -> /);
  assert.match(threads!, /^threads of all has not reached a1, a2 -> /);
  assert.match(block!, /^block of \* has not reached a2 -> /);
});

test('problems: reasons of agents that wait, of networks and of robots.txt, with their remedies', () => {
  const waits = 'has not joined: no agent answers at tcp://x: start one of these contacts';
  assert.deepEqual(problems([{ waits }, {}, {}]), [
    'a1 has not joined -> no agent answers at tcp://x; start one of these contacts',
  ]);
  const failure = { network: 'paris', message: 'paris: full; raise maxmemory', forMs: 1 };
  const networks = networksStatus({ failures: [failure] as never });
  assert.deepEqual(problems([{ networks }, { networks }, {}]), ['paris: full -> raise maxmemory']);
  const warned = networksStatus({ warnings: ['rome: evicts; set noeviction'] });
  assert.deepEqual(problems([{ networks: warned }, {}]), ['rome: evicts -> set noeviction']);
  const places = foundIn([{ networks: warned }, { networks }]).map(({ place }) => place);
  assert.deepEqual(places, ['events?kind=network', 'agents'], 'a warning is no event');
  const away = networksStatus({ failures: [{ ...failure, message: 'ECONNREFUSED' }] as never });
  assert.deepEqual(problems([{ networks: away }, {}]), [
    'ECONNREFUSED -> look at that Redis and the way to it, or correct its URL in dedup.networks',
  ]);
  const robots = { hostsAwaitingRobots: 2, robotsWaitReason: 'dns\u001b[2J' };
  const [text] = problems([robots, { hostsAwaitingRobots: 3 }, {}]);
  assert.match(text!, /^5 hosts wait for robots\.txt: dns�\[2J -> .*network of a1, a2; .*block/);
});

test('problems: an event loop that is late by a tenth of the time to removal', () => {
  const [late, ...others] = problems([{ loopDelayMs: 501 }, { loopDelayMs: 499 }, {}]);
  assert.match(late!, /^a1 is late by 501 ms; at 5,000 ms it is removed -> lower agent\.threads/);
  assert.deepEqual(others, []);
});

test('problems: hosts whose pages repeat, of all agents, with a block and the limit', () => {
  const traps = { slowed: 1, stopped: 0, host: 'calendar.test' };
  const [one] = problems([{ traps }, { traps: null }, {}]);
  assert.match(
    one!,
    /^1 host repeats its pages, .*\(1 slowed down\), for example calendar\.test -> /,
  );
  assert.match(one!, / ubiring block crawl\.yaml calendar\.test; .*raise limits\.stalePages$/);
  const [all] = problems([{ traps }, { traps: { slowed: 2, stopped: 3, host: 'b.test' } }, {}]);
  assert.match(all!, /^6 hosts repeat .*\(3 slowed down, the queues of 3 skipped\), for example c/);
  const place = (slowed: number) =>
    foundIn([{ traps: { ...traps, slowed, stopped: 1 } }, {}, {}])[0]?.place;
  assert.deepEqual([place(1), place(0)], ['hosts?state=trap', 'lookup?host=calendar.test']);
});

test('problems: a disk with less than 1 GiB left', () => {
  const [low, ...others] = problems([
    { diskFreeBytes: 1024 ** 3 },
    { diskFreeBytes: 3 * 1024 ** 2 },
    { diskFreeBytes: null },
  ]);
  assert.match(low!, /^the disk of a2 has 3\.0 MiB left; .* -> free some space there/);
  assert.deepEqual(others, []);
});

test('problems: a state file that cannot be read, with the remedy that the damage has', () => {
  const file = { agent: 'a3', path: 'data/a3/state.sqlite' };
  const unreadable = [
    { ...file, why: 'is damaged (file is not a database)' },
    { ...file, why: 'has schema 99: it is newer; upgrade' },
  ];
  const [damaged, newer] = problems([{}, {}, {}], { unreadable });
  assert.match(damaged!, /^data\/a3\/state\.sqlite is damaged \(.*\) -> start .* --id a3; it sets/);
  assert.equal(newer, 'data/a3/state.sqlite has schema 99 -> it is newer; upgrade');
});

test('problems: each names a part of the dashboard that shows more', () => {
  const parts = fs.readFileSync(dashboard, 'utf8').match(/const PARTS = \{[\s\S]*?\n\};/)![0];
  const found = foundIn(
    [
      { paused: true, waits: 'waits', hostsAwaitingRobots: 1, loopDelayMs: 999, copyLag: 1 },
      { diskFreeBytes: 1, traps: { slowed: 1, stopped: 0, host: 'a.test' } },
    ],
    { unreachable: ['a3'], lagging: ['a1'], unreadable: [] },
  );
  assert.equal(found.length, 8);
  for (const { place, text } of found) {
    assert.match(parts, new RegExp(`\\b${place.split('?')[0]}: '`), text);
  }
});

test('copy lags: stuck is a lag that has not fallen for 30 s and has grown, or an idle agent', () => {
  const stuck = (lags: readonly number[], pagesPerSecond: number) => {
    const seen = new CopyLags();
    return lags.map((copyLag, k) => {
      return seen.stuckAt(10_000 * k, [{ id: 'a1', copyLag, pagesPerSecond }]).length;
    });
  };
  assert.deepEqual(stuck([2, 3, 4, 5, 6], 9), [0, 0, 0, 0, 1], 'grows');
  assert.deepEqual(stuck([2, 3, 4, 3, 4, 5, 6, 7], 9), [0, 0, 0, 0, 0, 0, 0, 1], 'fell once');
  assert.deepEqual(stuck([1, 1, 1, 1, 1], 9), [0, 0, 0, 0, 0], 'one host that changes always');
  assert.deepEqual(stuck([1, 1, 1, 1, 1], 0), [0, 0, 0, 0, 1], 'constant, and no page is fetched');
  assert.deepEqual(stuck([0, 0, 0, 0, 0], 0), [0, 0, 0, 0, 0], 'no lag');
});
