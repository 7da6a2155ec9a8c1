import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { programName } from '../../../../agent/cli/common/output.ts';
import { CopyLags, problemsOf } from '../../../../agent/cli/top/problems.ts';
import type { AgentStatus } from '../../../../agent/monitor/agent-status.ts';
import { agentStatus } from '../agent-status.ts';
import { networksStatus } from '../networks-status.ts';

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
  more: { unreachable?: string[]; lagging?: string[]; orders?: never } = {},
): string[] {
  const agents = parts.map((part, k) => agentStatus({ id: ids[k]!, ...part }));
  const { unreachable = [], lagging = [], ...rest } = more;
  const found = problemsOf({ agents, unreachable, ...rest }, lagging, config);
  // npm, which may run this test, changes the name.
  return found.map(({ text, remedy }) => `${text} -> ${remedy}`.replace(programName(), 'ubiring'));
}

test('problems: none in a cluster that works', () => {
  assert.deepEqual(problems([{ copyLag: 7, loopDelayMs: 400 }, {}, {}]), []);
});

test('problems: an agent that does not answer, or has left, with its start command', () => {
  assert.deepEqual(problems([{}, {}], { unreachable: ['a3'] }), [
    'a3 does not answer -> if it does not run, start it: ubiring agent crawl.yaml --id a3',
  ]);
  const left = { kind: 'leave', ageMs: 1, detail: { agent: 'a3' } } as const;
  assert.deepEqual(problems([{ recent: [left] }, {}], { unreachable: ['a3'] }), [
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
});

test('problems: a pause of all or of some agents, and a directive that has not reached one', () => {
  const paused = { paused: true };
  const [all] = problems([paused, paused]);
  assert.equal(all, 'the crawl is paused -> resume it: ubiring resume crawl.yaml');
  const orders = [{ kind: 'pause', host: '', missing: ['a2'] }] as never;
  const [some, missed] = problems([paused, {}], { orders });
  assert.match(some!, /^only a1 is paused -> /);
  assert.match(missed!, /^pause has not reached a2 -> /);
});

test('problems: reasons of agents that wait, of networks and of robots.txt, with their remedies', () => {
  const waits = 'has not joined: no agent answers at tcp://x: start one of these contacts';
  assert.deepEqual(problems([{ waits }, {}, {}]), [
    'a1 has not joined -> no agent answers at tcp://x; start one of these contacts',
  ]);
  const failure = { network: 'paris', message: 'paris: full; raise maxmemory', forMs: 1 };
  const networks = networksStatus({ failures: [failure] as never });
  assert.deepEqual(problems([{ networks }, { networks }, {}]), ['paris: full -> raise maxmemory']);
  const robots = { hostsAwaitingRobots: 2, robotsWaitReason: 'dns\u001b[2J' };
  const [text] = problems([robots, { hostsAwaitingRobots: 3 }, {}]);
  assert.match(text!, /^5 hosts wait for robots\.txt: dns�\[2J -> .*network of a1, a2; .*block/);
});

test('problems: an event loop that is late by a tenth of the time to removal', () => {
  const [late, ...others] = problems([{ loopDelayMs: 501 }, { loopDelayMs: 499 }, {}]);
  assert.match(late!, /^a1 is late by 501 ms; at 5,000 ms it is removed -> lower agent\.threads/);
  assert.deepEqual(others, []);
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
