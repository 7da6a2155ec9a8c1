import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statusText } from '../../../../agent/cli/status/status-command.ts';
import { trafficText } from '../../../../agent/cli/status/status-traffic.ts';
import { agentStatus } from '../agent-status.ts';

const sent = (messages: number) => ({ messages, bytes: 100 * messages });

test('status: a Kademlia cluster shows the messages of each operation of the paper', () => {
  const a1 = { STORE_TASK: sent(1234), STORE_BACKUP: sent(56), PING: sent(7), HEARTBEAT: sent(8) };
  const agents = [agentStatus({ traffic: a1 }), agentStatus({ id: 'a2', traffic: {} })];
  const text = trafficText(agents)!;
  assert.deepEqual(
    text.split('\n').map((line) => line.trim().split(/\s{2,}/)),
    [
      [
        ...['agent', 'STORE_TASK', 'STORE_BACKUP', 'DELETE_BACKUP', 'REFRESH_TASK'],
        ...['FIND_NODE', 'PING'],
      ],
      ['a1', '1,234', '56', '0', '0', '0', '7'],
      ['a2', '0', '0', '0', '0', '0', '0'],
    ],
  );
  for (const line of text.split('\n')) assert.ok(line.length <= 80, line);
  assert.ok(statusText({ agents, unreachable: [] }).includes(text));
});

test('status: a cluster on the ring has no table of operations', () => {
  const traffic = { URLS: sent(1), ROWS: sent(2), HEARTBEAT: sent(3) };
  assert.equal(trafficText([agentStatus({ traffic })]), null);
});
