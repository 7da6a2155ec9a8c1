import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isStatusOf, statusesIn } from '../../../../agent/cli/remote/status-check.ts';
import { clusterStatus, statusText } from '../../../../agent/cli/status/status-command.ts';
import { agentStatus } from '../agent-status.ts';
import { networksStatus } from '../networks-status.ts';

const event = { kind: 'join', ageMs: 5, detail: { agent: 'a2', members: [1, 2], why: null } };
const budgets = {
  pages: { limit: 9, tokens: 1, hostsWaiting: 0, reached: false, spent: null },
  addresses: { delayMs: 1, owned: 0, granted: 0, used: 0, hostsWaiting: 0 },
};
const good = {
  ...agentStatus({ waits: 'waits' }),
  ...{ budgets, recent: [event], later: {}, members: [{ id: 'a2', relayed: true, later: 1 }] },
  ...{
    traffic: { PING: { messages: 1, bytes: 2 } },
    gone: [{ id: 'a3', kind: 'leave', ageMs: 1 }],
  },
  ...{ failures: { dns: 2 }, dashboard: 'http://127.0.0.1:7190/' },
  networks: networksStatus({
    failures: [{ network: 'paris', message: 'away', forMs: 1, quietMs: 1 }],
  }),
};

test('status: of another agent is readable, also with properties of a later version', () => {
  assert.ok(isStatusOf(JSON.parse(JSON.stringify(good)), 'a1'));
  assert.ok(isStatusOf(agentStatus({}), 'a1'));
  assert.match(statusText({ agents: [good as never], unreachable: [] }), /a1/);
});

test('status: of another agent is unreadable if a property that is shown has a wrong type', () => {
  const wrong = {
    ...{
      id: 'a2',
      hosts: '1',
      pages: null,
      loopDelayMs: -1,
      joined: 1,
      waits: 7,
      lifecycle: '\u001b[2J',
    },
    ...{ members: [null], traffic: { PING: 1 }, budgets: { pages: null }, directives: undefined },
    ...{ failures: { dns: '2' }, dashboard: 7, handOff: null, capacity: 1e9 },
    gone: [{ id: 'a3', kind: 7, ageMs: 1 }],
    recent: [{ ...event, detail: { agent: { toString: 5 } } }],
  };
  for (const [key, value] of Object.entries(wrong)) {
    assert.equal(isStatusOf({ ...good, [key]: value }, 'a1'), false, key);
  }
  for (const value of [null, 7, [], {}]) assert.equal(isStatusOf(value, 'a1'), false);
});

test('status: of another agent is unreadable if its networks are', () => {
  const { networks } = good;
  const wrong = {
    ...{ network: 7, submitter: { ...networks.submitter, latencyMs: '1' }, centre: 1 },
    ...{ reporter: { unreported: 0 }, leases: null, failures: [{ network: 'paris', message: 1 }] },
  };
  for (const [key, value] of Object.entries(wrong)) {
    assert.equal(
      isStatusOf({ ...good, networks: { ...networks, [key]: value } }, 'a1'),
      false,
      key,
    );
  }
  assert.equal(isStatusOf({ ...good, networks: null }, 'a1'), false);
});

test('status: of a ring is that of the readable agents, and names the others', () => {
  const order = { kind: 'pause', host: '', by: 'a1', value: null, applied: ['a1'] };
  const cases: readonly (readonly [agents: readonly unknown[], unreadable: readonly string[]])[] = [
    [[], []],
    [[{ ...good, id: 'a2' }], []],
    [[{ ...good, id: 'a2', members: null }], ['a2']],
    [[{ ...good, id: 'a2', recent: null }], ['a2']],
    [[{ ...good, id: 'a2', members: [{ id: 'a1', relayed: true, capacity: 1e9 }] }], ['a2']],
    // Its neighbours name the agent whose answer does not.
    [[null], ['a2']],
    [[{ ...good, id: 7 }], ['a2']],
    [[{ ...good, id: 'x'.repeat(1000) }], ['a2']],
    [[{ ...good, pages: 7 }], []],
  ];
  for (const [agents, unreadable] of cases) {
    const answer = { agents: [good, ...agents], unreachable: ['a3', 7], orders: [order, null] };
    const found = statusesIn(answer);
    assert.deepEqual(found?.unreadable, unreadable, JSON.stringify(agents));
    const cluster = clusterStatus(found, ['a1']);
    assert.deepEqual([cluster.unreachable, cluster.left], [unreadable, ['a3']]);
    assert.deepEqual(
      cluster.orders?.map(({ kind }) => kind),
      ['pause'],
    );
    assert.match(statusText(cluster), /a1/);
  }
  for (const result of [null, 7, [], {}, { agents: null }, { agents: [] }, { agents: [null] }]) {
    assert.equal(statusesIn(result), null);
  }
  const bare = statusesIn({ agents: [good], unreachable: null, orders: null });
  assert.deepEqual([bare?.unreachable, bare?.orders], [[], []]);
});
