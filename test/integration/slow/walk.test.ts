// Commands to real processes that know only some of the others. The views of these agents form two
// groups that do not touch, because the identifiers of three begin with the bit 0 and those of the
// others with 1. Each has a data directory of its own, as on different machines.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { AgentStatus } from '../../../agent/monitor/agent-status.ts';
import { run, untilAsked } from '../cli-process.ts';
import { assertCode } from '../cluster-stage.ts';
import { stageOf } from '../contacts-stage.ts';

const IDS = [...'abcdjl'];

interface Status {
  readonly agents: readonly AgentStatus[];
  readonly orders: readonly { readonly missing: readonly string[] }[];
}

async function clusterOf(t: Parameters<typeof stageOf>[0], net: number) {
  const kademlia = { ids: 1, neighbourhood: 3 };
  const stage = await stageOf(t, IDS.join(''), net, { backups: 0, kademlia });
  const { scratch, config } = stage;
  const at = (id: string) => ['--data', join(scratch.directory, `machine-${id}`)];
  const begin = (id: string) => {
    const agent = stage.begin(id, config, ...at(id));
    t.after(() => agent.child.kill('SIGKILL'));
    return agent;
  };
  /** Runs a command on the machine of an agent. */
  const from = (id: string, command: string, ...args: string[]) =>
    run(command, config, ...args, ...at(id));
  const statusFrom = async (id: string): Promise<Status> => {
    const { stdout, code } = await from(id, 'status', '--json');
    return code === 0 ? (JSON.parse(stdout) as Status) : { agents: [], orders: [] };
  };
  const agents = new Map(IDS.map((id) => [id, begin(id)]));
  /** Waits until each agent knows the two others of its group, and does not pause. */
  const untilGrouped = () =>
    untilAsked('two groups', async () => {
      const { agents } = await statusFrom('l');
      const group = agents.filter((one) => one.joined && one.members.length === 2 && !one.paused);
      return group.length === IDS.length;
    });
  await untilGrouped();
  return { ...stage, from, statusFrom, begin, agents, untilGrouped };
}

function applied(ids: readonly string[]): Record<string, string> {
  return Object.fromEntries(ids.map((id) => [id, 'applied']));
}

test('two groups of agents', async (t) => {
  const { web, from, statusFrom, begin, agents, untilGrouped } = await clusterOf(t, 86);

  await t.test('commands at one agent reach agents that none of its neighbours knows', async () => {
    const paused = await from('l', 'pause', '--json');
    assertCode(paused, 0);
    assert.deepEqual(JSON.parse(paused.stdout), applied(IDS));
    assert.match(
      paused.stderr,
      /6 of 6 agents have it; 6 is an estimate: the config does not list/,
    );
    const { orders } = await statusFrom('a');
    assert.deepEqual(
      orders.map(({ missing }) => missing),
      [[]],
    );

    const owners: unknown[] = [];
    for (const id of ['a', 'd']) {
      const { stdout } = await from(id, 'explain', web.seed, '--json');
      const { source, owner, stored } = JSON.parse(stdout) as Record<string, unknown>;
      assert.equal(source, 'agents');
      assert.equal((stored as { agent: string }).agent, owner);
      owners.push(owner);
    }
    assert.equal(owners[0], owners[1]);
    const list = JSON.parse((await from('c', 'owner', web.seed)).stdout) as { order: string[] };
    assert.equal(list.order[0], owners[0]);
    assert.deepEqual(list.order.toSorted(), IDS);

    agents.get('c')!.child.kill('SIGKILL');
    await agents.get('c')!.ended;
    const resumed = JSON.parse((await from('j', 'resume', '--json')).stdout) as object;
    assert.deepEqual({ ...resumed, c: 'applied' }, applied(IDS));
    agents.set('c', begin('c'));
    // The pause ends at the returned agent too.
    await untilGrouped();
  });

  await t.test(
    'stop at one agent ends all, and lets named ones of another group leave',
    async () => {
      const unknown = await from('a', 'stop', 'x');
      assertCode(unknown, 2);
      const left = await from('a', 'stop', 'd', '--json');
      assertCode(left, 0);
      assert.deepEqual(JSON.parse(left.stdout), { d: 'applied' });
      assertCode(await agents.get('d')!.ended, 0);
      const others = IDS.filter((id) => id !== 'd');
      await untilAsked('the others to know', async () => {
        const views = (await statusFrom('b')).agents.map(({ members }) => members);
        return views.length === others.length && !views.flat().some(({ id }) => id === 'd');
      });
      const stopped = await from('b', 'stop', '--json');
      assertCode(stopped, 0);
      assert.deepEqual(JSON.parse(stopped.stdout), applied(others));
      for (const id of others) assertCode(await agents.get(id)!.ended, 11);
    },
  );
});
