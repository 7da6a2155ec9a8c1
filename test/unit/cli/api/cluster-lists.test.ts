// The lists over all machines: which agents are named if their rows are missing.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterLists } from '../../../../agent/cli/api/cluster-lists.ts';
import type { Client, ListThread } from '../../../../agent/cli/api/list-thread.ts';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import type { RemoteClient } from '../../../../agent/cli/remote/remote-client.ts';
import type { ClusterView, ClusterWatch } from '../../../../agent/cli/views/cluster-watch.ts';
import { agentStatus } from '../agent-status.ts';

const config = {
  agent: { dataDir: '/nonexistent' },
  cluster: { agents: [], contacts: [] },
  monitor: { listen: null },
} as unknown as ResolvedConfig;

const RESULTS = {
  hosts: { rows: [], next: null, problems: [] },
  urls: { rows: [], next: null, problems: [] },
  history: { span: null, agents: [], changes: [], problems: [] },
} as const;

/** With no state on this machine, and without answers of other machines. */
function listsOf(view: Pick<ClusterView, 'agents' | 'unreachable'>): ClusterLists {
  const thread = { call: async (_: Client, name: keyof typeof RESULTS) => RESULTS[name] };
  const watch = { now: async () => ({ view }) };
  return new ClusterLists(
    config,
    thread as unknown as ListThread,
    watch as unknown as ClusterWatch,
    {} as RemoteClient,
  );
}

const CLIENT = { address: '127.0.0.1', signal: new AbortController().signal };
const NONE = { limit: 10, sort: 'host' } as const;

test('each list names the agents that do not answer', async () => {
  const lists = listsOf({ agents: [], unreachable: ['a2'] });
  const named = ['a2: it does not answer, and its rows may be missing; look at its machine'];
  assert.deepEqual((await lists.hosts(NONE, 'cluster', CLIENT)).problems, named);
  const urls = await lists.urls('pages', { host: 'h.test', limit: 10 }, 'cluster', CLIENT);
  assert.deepEqual(urls.problems, named);
  assert.deepEqual((await lists.history('cluster', CLIENT)).problems, [
    {
      text: 'a2: it does not answer, and its rows may be missing',
      remedy: 'look at its machine',
      place: 'agents',
    },
  ]);
  // The machine that forwards the request names them.
  assert.deepEqual((await lists.hosts(NONE, 'machine', CLIENT)).problems, []);
});

test('an agent that has left has handed over its rows', async () => {
  const left = { kind: 'leave', ageMs: 1, detail: { agent: 'a2' } };
  const here = agentStatus({ id: 'a1', recent: [left as never] });
  const lists = listsOf({ agents: [here], unreachable: ['a2'] });
  const { problems } = await lists.hosts(NONE, 'cluster', CLIENT);
  assert.deepEqual(
    problems.filter((said) => said.includes('a2')),
    [],
  );
});
