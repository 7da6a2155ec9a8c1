// The lists over all machines: which agents are named if their rows are missing.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterLists } from '../../../../agent/cli/api/cluster-lists.ts';
import type { Client, ListProcess } from '../../../../agent/cli/api/list-process.ts';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { HttpProblem } from '../../../../agent/cli/http/http-problem.ts';
import { type RemoteClient, RemoteError } from '../../../../agent/cli/remote/remote-client.ts';
import type { ClusterView, ClusterWatch } from '../../../../agent/cli/views/cluster-watch.ts';
import type { RowsPage } from '../../../../agent/cli/views/query-pages.ts';
import { agentStatus } from '../agent-status.ts';

const config = {
  file: 'crawl.yaml',
  agent: { dataDir: '/nonexistent' },
  cluster: { agents: [], contacts: [] },
  monitor: { listen: null },
} as unknown as ResolvedConfig;

const NO_ROWS: RowsPage = { rows: [], next: null, problems: [] };
const RESULTS = {
  hosts: NO_ROWS,
  urls: NO_ROWS,
  history: { span: null, agents: [], changes: [], problems: [] },
} as const;

/** With no state on this machine, and without answers of other machines, unless they are given. */
function listsOf(
  view: Pick<ClusterView, 'agents' | 'unreachable' | 'left' | 'complete'>,
  {
    urls = NO_ROWS,
    theirs = {} as Readonly<Record<string, RowsPage>>,
    stale = [] as readonly string[],
  } = {},
): ClusterLists {
  const process = {
    call: async (reader: Client & { stale: readonly string[] }, name: keyof typeof RESULTS) => {
      assert.deepEqual(reader.stale, stale);
      return { ...RESULTS, urls }[name];
    },
  };
  const watch = { now: async () => ({ view, stale }), stale: async () => stale };
  return new ClusterLists(
    config,
    process as unknown as ListProcess,
    watch as unknown as ClusterWatch,
    { json: async ({ id }: { id: string }) => theirs[id] } as unknown as RemoteClient,
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

test('an agent that is no member does not lack: others have its hosts', async () => {
  const address = 'tcp://127.0.0.1:1';
  const members = ['a1', 'a2'].map((id) => ({ id, address }) as never);
  const named = async (unreachable: string[]) => {
    const lists = listsOf({ agents: [{ ...agentStatus({ id: 'a1' }), members }], unreachable });
    const { problems } = await lists.hosts(NONE, 'cluster', CLIENT);
    return problems
      .filter((said) => said.includes('does not answer'))
      .map((said) => said.slice(0, 2));
  };
  assert.deepEqual(await named(['a2', 'a3']), ['a2']);
  assert.deepEqual(await named(['a3']), []);
});

test('each list names the states here that are stale, and reads the agents elsewhere', async () => {
  const a2 = agentStatus({ id: 'a2', dashboard: 'http://127.0.0.1:9/' });
  const a1 = agentStatus({ id: 'a1', dashboard: 'http://127.0.0.1:9/' });
  const address = 'tcp://127.0.0.1:1';
  const members = ['a1', 'a2'].map((id) => ({ id, address }) as never);
  const agents = [a1, a2].map((one) => ({ ...one, members }));
  const rows = [{ agent: 'a2', host: 'h.test' }];
  const theirs = { a1: NO_ROWS, a2: { ...NO_ROWS, rows } };
  const lists = listsOf({ agents, unreachable: [] }, { stale: ['a2'], theirs });
  const hosts = await lists.hosts(NONE, 'cluster', CLIENT);
  assert.deepEqual(hosts.rows, rows);
  const text =
    'a2: it runs on another machine, so /nonexistent/a2 here is of an earlier run and is not read';
  const note = `${text}; move that directory away`;
  assert.equal(
    hosts.problems.find((said) => said.startsWith('a2')),
    note,
  );
  const { problems } = await lists.history('cluster', CLIENT);
  assert.deepEqual(problems.find((one) => one.text === text)?.remedy, 'move that directory away');
  assert.deepEqual((await lists.hosts(NONE, 'machine', CLIENT)).problems, []);
  // It does not hide that no agent has a host.
  const none = listsOf(
    { agents, unreachable: [] },
    { stale: ['a2'], theirs: { a1: NO_ROWS, a2: NO_ROWS } },
  );
  await assert.rejects(
    none.urls('pages', { host: 'no.test', limit: 1 }, 'cluster', CLIENT),
    HttpProblem,
  );
});

test('an agent that has left has handed over its rows', async () => {
  const lists = listsOf({ agents: [agentStatus({ id: 'a1' })], unreachable: [], left: ['a2'] });
  const { problems } = await lists.hosts(NONE, 'cluster', CLIENT);
  assert.deepEqual(
    problems.filter((said) => said.includes('a2')),
    [],
  );
});

test('the URLs of a host are those of its present owner, whatever dead agents have kept', async () => {
  const pageOf = (holder: string | null, ...urls: string[]): RowsPage => {
    const rows = urls.map((url) => ({ agent: holder, url }));
    return { rows, next: null, problems: [], ...(holder !== null && { holder }) };
  };
  const a2 = agentStatus({ id: 'a2', dashboard: 'http://127.0.0.1:9/' });
  const a3 = agentStatus({ id: 'a3', dashboard: 'http://127.0.0.1:9/' });
  const address = 'tcp://127.0.0.1:1';
  const members = ['a1', 'a2', 'a3', 'a4'].map((id) => ({ id, address }) as never);
  const view = { agents: [a2, a3].map((one) => ({ ...one, members })), unreachable: ['a1', 'a4'] };
  const asked = async (urls: RowsPage, theirs: Readonly<Record<string, RowsPage>>) => {
    const query = { host: 'h.test', limit: 10 };
    const { rows, problems } = await listsOf(view, { urls, theirs }).urls(
      'pages',
      query,
      'cluster',
      CLIENT,
    );
    return { urls: rows.map(({ url }) => url), isPart: problems.length > 0 };
  };
  const dead = pageOf('a1', 'old');
  const none = pageOf(null);
  const own = await asked(dead, { a2: pageOf('a4', 'older'), a3: pageOf('a3', 'new') });
  assert.deepEqual(own, { urls: ['new'], isPart: false });
  // All were fetched since.
  assert.deepEqual(await asked(dead, { a2: pageOf('a2'), a3: none }), { urls: [], isPart: false });
  assert.deepEqual(await asked(dead, { a2: none, a3: none }), { urls: ['old'], isPart: true });
  assert.deepEqual((await asked(pageOf('a2', 'here'), {})).urls, ['here']);
  // A version that does not name the holder.
  const { holder: _, ...former } = pageOf('a2', 'new');
  assert.deepEqual((await asked(dead, { a2: former, a3: none })).urls, ['new']);
});

test('moves of an agent that does not run say how to start it, and of no agent that there is none', async () => {
  const view = { agents: [agentStatus({ id: 'a1' })], unreachable: ['a2'], left: ['a3'] };
  const refusalOf = async (id: string, of: Parameters<typeof listsOf>[0] = view) => {
    const refused = listsOf(of).moves({ id, capacity: null }, 'cluster', CLIENT);
    const error = await refused.then(null, (reason: unknown) => reason);
    assert.ok(error instanceof HttpProblem);
    return error.document;
  };
  for (const [id, expected] of [
    ['a2', 'agent-silent'],
    ['a3', 'agent-left'],
  ] as const) {
    const { status, code, remedy } = await refusalOf(id);
    assert.deepEqual([status, code], [409, expected]);
    assert.match(String(remedy), new RegExp(`start it .*: .*agent crawl.yaml --id ${id}`));
  }
  const { status, code } = await refusalOf('a9');
  assert.deepEqual([status, code], [404, 'agent-unknown']);
  const ended = { agents: [], unreachable: ['a2'], complete: { at: 1, agents: ['a2'] } };
  const { code: why, remedy } = await refusalOf('a2', ended);
  assert.equal(why, 'crawl-complete');
  assert.match(String(remedy), /again: .* --refresh/);
});

test('events do not wait for the state of the cluster, and say whose cannot be read', async () => {
  const a2 = agentStatus({ id: 'a2', dashboard: 'http://127.0.0.1:9/' });
  const a1 = agentStatus({
    id: 'a1',
    members: [{ id: 'a2', address: 'tcp://127.0.0.1:1' } as never],
  });
  const view = { agents: [a1, a2], unreachable: [] };
  let answer: unknown = null;
  const json = async () => {
    if (answer === null) throw new RemoteError('a2: its API has answered 401; add a token');
    return answer;
  };
  const lists = new ClusterLists(
    config,
    {} as unknown as ListProcess,
    { now: () => new Promise(() => {}), last: { view, stale: [] } } as unknown as ClusterWatch,
    { json } as unknown as RemoteClient,
  );
  const source = (await lists.eventSources()).find(({ agent }) => agent === 'a2');
  assert.equal(source!.now, undefined);
  const ofA2 = () => lists.unreadEvents().filter((one) => one.text.startsWith('a2'));
  assert.deepEqual(ofA2(), []);
  assert.equal(await source!.read(null), null);
  const [problem] = ofA2();
  const said = ['a2: its API has answered 401', 'add a token'];
  assert.deepEqual([problem?.text, problem?.remedy], said);
  assert.equal(lists.unreadEvents(), lists.unreadEvents(), 'it has not changed');
  answer = { last: 0, mark: '', events: [] };
  assert.ok(await source!.read(null));
  assert.deepEqual(ofA2(), []);
});
