// The agent that `top` asks again and again.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterStatus } from '../../../../agent/cli/status/status-command.ts';
import { TopSource } from '../../../../agent/cli/top/top-source.ts';
import { agentStatus } from '../agent-status.ts';
import { crawlOf, startAnswers } from '../told-agents.ts';

test('top: the agent that answered last is asked alone, until it joins again', async (t) => {
  const [one, two] = [await startAnswers(t), await startAnswers(t)];
  const pair = (joined: boolean) => [agentStatus({ id: 'a1', joined }), agentStatus({ id: 'a2' })];
  one.told.agents = pair(true);
  two.told.agents = pair(true);
  // The first answer is that of a1.
  const first = Promise.withResolvers<void>();
  two.told.after = first.promise;
  const order = { kind: 'pause', host: '', value: 1, by: 'a1', applied: ['a1'] };
  one.told.orders = [order];
  const source = new TopSource(crawlOf([one.address, two.address]));
  const ask = async () => {
    const answer = await source.ask();
    assert.ok(answer.ok);
    const { agents, orders } = answer.result as ClusterStatus;
    return { by: answer.by, ids: agents.map(({ id }) => id), applied: orders?.[0]?.applied };
  };
  const both = ['a1', 'a2'];
  assert.deepEqual(await ask(), { by: 'a1', ids: both, applied: both }, 'the digests are equal');
  first.resolve();
  await ask();
  one.told.agents = pair(false).slice(0, 1);
  two.told.agents = pair(false);
  assert.deepEqual(await ask(), { by: 'a2', ids: both, applied: undefined });
  assert.deepEqual([one.told.asked, two.told.asked], [4, 2]);
});
