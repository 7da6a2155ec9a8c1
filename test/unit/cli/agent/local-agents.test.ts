import assert from 'node:assert/strict';
import { test } from 'node:test';
import { localAgents, selectAgents } from '../../../../agent/cli/agent/local-agents.ts';
import { hostOf } from '../../../../agent/cli/common/named-host.ts';
import { clusterStatus, statusText } from '../../../../agent/cli/status/status-command.ts';
import { agentStatus } from '../agent-status.ts';

function entry(id: string, address: string) {
  return { id, address, listen: address, capacity: 1 };
}

test('launch: agents at loopback or local addresses belong to this machine', async () => {
  const agents = [
    entry('a1', 'tcp://127.0.0.1:7101'),
    entry('a2', 'tcp://127.9.0.4:7101'),
    entry('a3', 'tcp://[::1]:7101'),
    entry('a4', 'tcp://localhost:7101'),
    // TEST-NET-1 belongs to no machine.
    entry('a5', 'tcp://192.0.2.1:7101'),
    entry('a6', 'tcp://no-such-host.invalid:7101'),
  ];
  const { local, why } = await localAgents(agents);
  assert.deepEqual(
    local.map(({ id }) => id),
    ['a1', 'a2', 'a3', 'a4'],
  );
  assert.deepEqual([...why.keys()], ['a5', 'a6']);
  assert.equal(why.get('a5'), 'a5: 192.0.2.1 is not an address of this machine');
  assert.match(why.get('a6')!, /^a6: its host no-such-host\.invalid cannot be looked up \(.+\)$/);
});

test('launch: --agents selects the first N agents of this machine, or the named ones', () => {
  const all = ['a1', 'a2', 'a3'];
  const why = new Map([['a2', 'a2: 192.0.2.1 is not an address of this machine']]);
  const ids = (wanted?: string) => {
    const chosen = selectAgents(wanted, all, ['a1', 'a3'], why);
    if (!chosen.ok && chosen.code === 4) assert.match(chosen.message, /a2: 192\.0\.2\.1 is no/);
    return chosen.ok ? chosen.ids : chosen.code;
  };
  assert.deepEqual(ids(), ['a1', 'a3']);
  assert.deepEqual(ids('1'), ['a1']);
  assert.deepEqual(ids('a3,a1,a3'), ['a1', 'a3']);
  assert.equal(ids('3'), 4, 'more than are on this machine');
  assert.equal(ids('4'), 2, 'more than the config has');
  assert.equal(ids('a2'), 4, 'an agent of another machine');
  assert.equal(ids('a9'), 2, 'an unknown agent');
  assert.equal(ids('0'), 2);
  const one = selectAgents('2', all, ['a1']);
  assert.ok(!one.ok && /: 1 of its 3 agents has an address of this/.test(one.message));
});

test('owner: accepts hosts and URLs in any spelling, and refuses other text', () => {
  const same: [string, string][] = [
    ['Example.ORG', 'example.org'],
    ['example.org.', 'example.org'],
    ['https://user@EXAMPLE.org:8443/x?y#z', 'example.org'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['127.1', '127.0.0.1'],
    ['::1', '[::1]'],
    ['[::1]:80', '[::1]'],
    ['example.org:8080', 'example.org'],
  ];
  for (const [text, host] of same) assert.equal(hostOf(text), host, text);
  for (const text of ['', 'a b', 'a/b', 'ftp://x/', 'http://', 'a..b', 'user@host']) {
    assert.equal(hostOf(text), null, text);
  }
});

test('status: names members that did not answer, and agents that no member knows', () => {
  const answer = {
    agents: [agentStatus({ id: 'a10' }), agentStatus({ id: 'a2', pages: 5, idle: true })],
    unreachable: ['a3'],
  };
  const cluster = clusterStatus(answer, ['a2', 'a3', 'a4', 'a10']);
  assert.deepEqual(
    cluster.agents.map(({ id }) => id),
    ['a2', 'a10'],
  );
  assert.deepEqual(cluster.unreachable, ['a3', 'a4']);
  const lines = statusText(cluster).split('\n');
  assert.match(lines[1]!, /^a2 +idle /);
  assert.match(lines[3]!, /^a3 +no answer +- +- +- +- +- +-$/);
  assert.match(lines[5]!, /^all +0 +5 /);
});

test('status: an agent that has left is not among those that do not answer', () => {
  const gone = [{ id: 'a3', kind: 'leave', ageMs: 1 }] as const;
  const answer = { agents: [agentStatus({ id: 'a1', gone })], unreachable: ['a2'] };
  const cluster = clusterStatus(answer, ['a1', 'a2', 'a3']);
  assert.deepEqual([cluster.unreachable, cluster.left], [['a2'], ['a3']]);
  const lines = statusText(cluster).split('\n');
  assert.match(lines[2]!, /^a3 +left +- /);
  assert.match(lines[3]!, /^a2 +no answer +- /);
});

test('status: fits 80 columns with large numbers, and shows unsettled pages', () => {
  const busy = agentStatus({
    ...{ hosts: 99_999, pages: 9_999_999, queued: 9_999_999, outbox: 99_999, copyLag: 12_345 },
    ...{ openRequests: 64, threads: 64, pagesPerSecond: 123.4, rssBytes: 9e8, uptimeMs: 3.5e8 },
    ...{ unsettled: 17, unanswered: 23, loopDelayMs: 1234 },
    recent: [{ kind: 'rejoin', ageMs: 100, detail: { why: 'stalled', awayMs: 9000 } }],
  });
  const text = statusText({ agents: [busy, { ...busy, id: 'a2' }], unreachable: [] });
  const widest = Math.max(...text.split('\n').map(({ length }) => length));
  assert.ok(widest <= 80, text);
  assert.match(text, /\na1 +0 +0 +12,345 +17 +23 +99,999 +1234 ms +858.3 MiB\n/);
  assert.match(text, /lately:\n +100 ms ago {2}a1, a2 {2}was stalled: rejoins$/);
});

test('status: omits shared limits if none is set', () => {
  const text = statusText({ agents: [agentStatus({})], unreachable: [] });
  assert.doesNotMatch(text, /token|address|limit/);
});

test('status: shows page tokens and address permits in 80 columns', () => {
  const shared = (id: string, spent: number | null) =>
    agentStatus({
      ...{ id, pages: 4_000_000 },
      budgets: {
        pages: { limit: 9_999_999, tokens: 64, hostsWaiting: 17, reached: false, spent },
        addresses: { delayMs: 200, owned: 12_345, granted: 64, used: 3, hostsWaiting: 99_999 },
      },
    });
  const agents = [shared('a1', null), shared('a2', 8_000_100)];
  const text = statusText({ agents, unreachable: [] });
  assert.ok(Math.max(...text.split('\n').map(({ length }) => length)) <= 80, text);
  const limit = /^page limit: 8,000,000 of 9,999,999 pages; a2 grants tokens: 1,999,899 left$/m;
  assert.match(text, limit);
  assert.match(text, /^cooldown of each address: 200 ms$/m);
  assert.match(text, /^a1 +64 +17 +12,345 +64 +3 +99,999$/m);
});

test('status: with one shared limit, shows no column of the other', () => {
  const pages = { limit: 10, tokens: 0, hostsWaiting: 0, reached: true, spent: 10 };
  const limited = agentStatus({ pages: 10, budgets: { pages, addresses: null } });
  const text = statusText({ agents: [limited], unreachable: [] });
  assert.match(text, /^page limit: 10 of 10 pages; reached$/m);
  assert.doesNotMatch(text, /address|hosts queued/);
  const addresses = { delayMs: 1, owned: 2, granted: 0, used: 0, hostsWaiting: 0 };
  const rested = agentStatus({ budgets: { pages: null, addresses } });
  const other = statusText({ agents: [rested], unreachable: [] });
  assert.match(other, /^a1 +2 +0 +0 +0$/m);
  assert.doesNotMatch(other, /token|limit/);
});

test('status: shows the hosts that wait for robots.txt, which can stall a crawl', () => {
  const waiting = agentStatus({ hosts: 1_234_567, hostsAwaitingRobots: 123_456 });
  const text = statusText({
    agents: [waiting, agentStatus({ id: 'a2', hosts: 3 })],
    unreachable: [],
  });
  assert.match(text, /^waiting for robots.txt: 123,456 \(view hosts: robots = 'unreachable'\)$/m);
  assert.ok(Math.max(...text.split('\n').map(({ length }) => length)) <= 80, text);
  assert.doesNotMatch(statusText({ agents: [agentStatus({})], unreachable: [] }), /robots/);
});
