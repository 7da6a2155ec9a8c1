// The state of the cluster as all clients get it.

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ResolvedConfig } from '../../../../agent/cli/common/load-config.ts';
import { recordCompletion } from '../../../../agent/cli/state-files/completion-file.ts';
import { ClusterWatch } from '../../../../agent/cli/views/cluster-watch.ts';
import { ReportedStatuses } from '../../../../agent/cli/views/reported-statuses.ts';
import type { AgentStatus } from '../../../../agent/monitor/agent-status.ts';
import { openState } from '../../../../agent/storage/file/database.ts';
import { DirectiveTable } from '../../../../agent/storage/tables/directive-table.ts';
import { good, newDirectory, plain } from '../../config/written-config.ts';
import { agentStatus } from '../agent-status.ts';
import { crawlOf, startAnswers } from '../told-agents.ts';

const config = {
  ...{ name: 'c', file: 'c.json', unplaced: [], strangers: [] },
  cluster: { overlay: 'ring', agents: [], contacts: [], backups: 1, failureDetector: {} },
  agent: { dataDir: join(tmpdir(), 'ubiring-no-such-directory') },
} as unknown as ResolvedConfig;

test('the tag of a text differs from all tags of an earlier server', async () => {
  const tags = await Promise.all(
    [
      new ClusterWatch(config, new ReportedStatuses()),
      new ClusterWatch(config, new ReportedStatuses()),
    ].map(async (watch) => (await watch.now()).tag),
  );
  assert.notEqual(tags[0], tags[1]);
  for (const tag of tags) assert.match(tag, /^"[\w-]+-1"$/);
});

test('after a command the state is asked for again, also while a question is open', async () => {
  const watch = new ClusterWatch(config, new ReportedStatuses());
  const number = async (asked: ReturnType<ClusterWatch['now']>) =>
    Number(/-(\d+)"$/.exec((await asked).tag)![1]);
  assert.deepEqual([await number(watch.now()), await number(watch.now())], [1, 1]);
  watch.outdated();
  const open = watch.now();
  const beside = watch.now();
  watch.outdated();
  const later = [watch.now(), watch.now()];
  const numbers = await Promise.all([open, beside, ...later].map(number));
  assert.deepEqual([...numbers, await number(watch.now())], [2, 2, 3, 3, 3]);
  const old = watch.now();
  watch.outdated();
  await old;
  assert.deepEqual(await Promise.all([watch.now(), watch.now()].map(number)), [4, 4]);
});

test('without agents, directives are in force, and no states of other machines are missing', async () => {
  const dataDir = join(newDirectory(), 'data');
  // No agent listens. No interface has the address 0.0.0.0, so a2 is on another machine.
  const agents = ['127.0.0.1', '0.0.0.0'].map((host, k) => {
    const address = `tcp://${host}:${k + 1}`;
    return { id: `a${k + 1}`, listen: address, address, capacity: 1 };
  });
  const written = good(`${plain}cluster: { agents: 1 }\n`, { dataDir });
  const here: ResolvedConfig = {
    ...{ ...written, file: 'c.json', unplaced: [], strangers: [] },
    cluster: { ...written.cluster, agents },
  };
  const state = openState({ directory: join(dataDir, 'a1'), crawl: here.name, agent: 'a1' });
  assert.ok(state.ok);
  const pause = { kind: 'pause', host: '', value: 1, n: 1, by: 'a1' } as const;
  new DirectiveTable(state.db).saveDirective(pause, 0);
  const watched = async () => (await new ClusterWatch(here, new ReportedStatuses()).now()).view;
  const remedyOf = async () => (await watched()).problems[0]?.remedy;
  assert.match(String(await remedyOf()), /^wait, or end them: .* kill .* a1; then .* launch /);
  state.db.close();
  state.unlock();
  assert.match(String(await remedyOf()), /^start them: .* launch /);
  const stopped = await watched();
  assert.deepEqual(
    stopped.orders?.map(({ kind, applied, missing }) => [kind, applied, missing]),
    [['pause', ['a1'], []]],
  );
  assert.match(String(stopped.problems[0]?.text), /^no agent answers: .*; the crawl is paused$/);
  recordCompletion(here, { at: 0, agents: ['a1', 'a2'] });
  const { complete, unsound, problems } = await watched();
  assert.deepEqual([complete?.agents, unsound, problems], [['a1', 'a2'], undefined, []]);
  rmSync(join(dataDir, 'a1', 'state.sqlite'));
  assert.deepEqual(
    (await watched()).unsound?.map(({ agent }) => agent),
    ['a1'],
  );
});

test('an agent that joins is not believed while a member answers', async (t) => {
  const [joining, member] = [await startAnswers(t), await startAnswers(t)];
  const alone = agentStatus({ id: 'a1', joined: false });
  joining.told.agents = [alone];
  member.told.agents = [alone, agentStatus({ id: 'a2' })];
  // The member answers later than the other.
  member.told.after = new Promise((resolve) => setTimeout(resolve, 50));
  const watch = new ClusterWatch(
    crawlOf([joining.address, member.address]),
    new ReportedStatuses(),
  );
  assert.deepEqual((await watch.now(0)).view.unreachable, []);
  member.told.agents = [alone];
  assert.deepEqual((await watch.now(0)).view.unreachable, ['a2'], 'nobody is a member');
  const reported = new ReportedStatuses();
  reported.note([alone]);
  assert.equal(reported.whole(), null);
});

test('no agent is asked while the reports have the whole cluster and the known directives', async (t) => {
  const { told, address } = await startAnswers(t);
  const member = { address, capacity: 1, inc: 1, joined: true, leaving: false, silentMs: 0 };
  const both = ['a1', 'a2'].map((id) => ({ ...member, id, relayed: false }));
  const here = crawlOf([address, address]);
  let at = 1000;
  t.mock.method(performance, 'now', () => at);
  const statuses = (part: Partial<AgentStatus> = {}) =>
    both.map(({ id }) => agentStatus({ id, members: both, uptimeMs: at, ...part }));
  const reported = new ReportedStatuses();
  const watch = new ClusterWatch(here, reported);
  const report = (reports: readonly AgentStatus[]) => reported.note(structuredClone(reports));
  /** The pages of both agents, and whether an agent was asked. */
  const shown = async () => {
    const before = told.asked;
    const { agents: shownAgents, unreachable, orders } = (await watch.now(0)).view;
    assert.deepEqual(unreachable, []);
    const pages = shownAgents.map((one) => one.pages);
    return { pages, isAsked: told.asked > before, missing: orders?.map((one) => one.missing) };
  };
  const asked = { pages: [9, 9], isAsked: true };
  const none = { missing: [] };

  told.agents = statuses({ pages: 9 });
  report(statuses({ pages: 1 }));
  assert.deepEqual(await shown(), { ...asked, ...none }, 'the directives are not known');
  at += 1000;
  report(statuses({ pages: 2 }));
  assert.deepEqual(await shown(), { pages: [2, 2], isAsked: false, ...none });
  report(statuses({ pages: 2, members: [...both, { ...both[0]!, id: 'a3' }] }));
  assert.deepEqual(await shown(), { ...asked, ...none }, 'a3 is a member');
  at += 1000;
  report(statuses({ pages: 3 }).slice(1));
  assert.deepEqual(await shown(), { ...asked, ...none }, 'a1 has ended');
  const order = { kind: 'pause', host: '', value: 1, by: 'a1', applied: ['a1'] };
  told.orders = [order];
  report(statuses({ pages: 3, directives: 'paused' }));
  told.agents = statuses({ pages: 9, directives: 'paused' });
  assert.deepEqual(await shown(), { ...asked, missing: [[]] }, 'a directive was given');
  at += 1000;
  report(statuses({ pages: 4, directives: 'paused' }));
  assert.deepEqual(await shown(), { pages: [4, 4], isAsked: false, missing: [[]] });
  watch.outdated();
  assert.deepEqual(await shown(), { ...asked, missing: [[]] }, 'a command was run here');
  at += 1000;
  told.agents = statuses({ pages: 9, directives: 'paused' });
  report(statuses({ pages: 5, directives: 'paused', uptimeMs: at - 1500 }));
  watch.outdated();
  assert.deepEqual(await shown(), { ...asked, missing: [[]] });
  assert.deepEqual(await shown(), { ...asked, missing: [[]] }, 'the reports are older');
  report(statuses({ pages: 6, directives: 'paused' }));
  at += 2600;
  report(statuses({ pages: 6, directives: 'paused', uptimeMs: at - 2600 }));
  assert.deepEqual(await shown(), { ...asked, missing: [[]] }, 'both agents hang');
  at += 1000;
  report(statuses({ pages: 7, directives: 'paused' }));
  assert.deepEqual((await shown()).isAsked, false);
  at += 4100;
  report(statuses({ pages: 8, directives: 'paused' }));
  assert.deepEqual((await shown()).isAsked, true, 'the answer is old');
});
