// Directives about single agents in the swarm (kind `shares`), given to random agents under faults:
// the capacity of an agent and the number of its threads. They have their own random source, so that
// no other plan changes.

import type { AgentId, Directive } from '../../agent/core/protocol/messages.ts';
import { EPOCH } from './cluster.ts';
import { anyEnded, isUp, type Plan, SPAN_MS } from './plan.ts';
import { Random } from './random.ts';

type What = Pick<Directive, 'kind' | 'host' | 'value'>;

export function planShares(plan: Plan, seed: number): void {
  if (plan.kind !== 'shares') return;
  const random = new Random(seed * 314_159 + 11);
  for (let i = random.whole(1, 6); i > 0; i--) {
    const what = drawDirective(random, plan.ids);
    const by = random.pick(plan.ids);
    plan.cluster.at(EPOCH + random.between(300, SPAN_MS * 1.1), () => {
      if (!anyEnded(plan) && isUp(plan, by)) give(plan, by, what);
    });
  }
}

function drawDirective(random: Random, ids: readonly AgentId[]): What {
  const host = random.pick(ids);
  if (random.chance(0.7)) {
    return { kind: 'capacity', host, value: random.pick([null, 0.5, 1, 2, 3, 4]) };
  }
  const value = random.pick([null, 1, 2, 9]);
  return { kind: 'threads', host: random.chance(0.5) ? '*' : host, value };
}

function give({ cluster }: Plan, by: AgentId, what: What): void {
  const agent = cluster.agents.get(by)!;
  agent.inputs.push(() => {
    agent.core.operator.give(what, cluster.instant(by), () => {});
  });
}
