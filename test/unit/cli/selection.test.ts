import assert from 'node:assert/strict';
import { test } from 'node:test';
import { localAgents, selectAgents } from '../../../agent/cli/local-agents.ts';
import { hostOf } from '../../../agent/cli/owner.ts';
import { clusterStatus, statusText } from '../../../agent/cli/status.ts';
import { agentStatus } from './agent-status.ts';

function entry(id: string, address: string) {
  return { id, address, listen: address, capacity: 1 };
}

test('launch: agents of this machine are those at loopback or local addresses', async () => {
  const agents = [
    entry('a1', 'tcp://127.0.0.1:7101'),
    entry('a2', 'tcp://127.9.0.4:7101'),
    entry('a3', 'tcp://[::1]:7101'),
    entry('a4', 'tcp://localhost:7101'),
    // TEST-NET-1 is nobody's.
    entry('a5', 'tcp://192.0.2.1:7101'),
  ];
  const local = await localAgents(agents);
  assert.deepEqual(
    local.map(({ id }) => id),
    ['a1', 'a2', 'a3', 'a4'],
  );
});

test('launch: --agents takes the first N of this machine, or the ones named', () => {
  const all = ['a1', 'a2', 'a3'].map((id) => entry(id, 'tcp://127.0.0.1:1'));
  const local = [all[0]!, all[2]!];
  const ids = (wanted?: string) => {
    const chosen = selectAgents(wanted, all, local);
    return chosen.ok ? chosen.agents.map(({ id }) => id) : chosen.code;
  };
  assert.deepEqual(ids(), ['a1', 'a3']);
  assert.deepEqual(ids('1'), ['a1']);
  assert.deepEqual(ids('a3,a1,a3'), ['a1', 'a3']);
  assert.equal(ids('3'), 4, 'more than there are');
  assert.equal(ids('a2'), 4, 'of another machine');
  assert.equal(ids('a9'), 4, 'unknown');
  assert.equal(ids('0'), 2);
});

test('owner: takes hosts and URLs in any spelling, and refuses what is neither', () => {
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

test('status: names members that did not answer and agents that nobody knows', () => {
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
  assert.match(lines.at(-1)!, /^all +/);
});
