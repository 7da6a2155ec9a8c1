// Directives about single agents in the swarm (kind `shares`), given to random agents under faults:
// the capacity of an agent, the number of its threads, and that it is drained. They have their own
// random source, so that no other plan changes. Also a schedule of two agents.

import type { AgentId, Directive } from '../../agent/core/protocol/messages.ts';
import { missing } from '../checkers/coverage.ts';
import { crawling } from './case-kit.ts';
import { EPOCH, SUSPECT_MS } from './cluster.ts';
import { anyEnded, isUp, type Plan, SPAN_MS } from './plan.ts';
import { Random } from './random.ts';

type What = Pick<Directive, 'kind' | 'host' | 'value'>;

export function planShares(plan: Plan, seed: number): void {
  if (plan.kind !== 'shares') return;
  const random = new Random(seed * 314_159 + 11);
  const drained = random.pick(plan.ids);
  for (let i = random.whole(1, 6); i > 0; i--) {
    const what = drawDirective(random, plan.ids, drained);
    giveLater(plan, random, what);
  }
  // So that some regions of a partial view have more drained agents than others.
  const crowd = new Random(seed * 223_606_797 + 19);
  if (!plan.isWide || crowd.chance(0.5)) return;
  for (const host of plan.ids.filter(() => crowd.chance(0.4))) {
    giveLater(plan, crowd, { kind: 'drain', host, value: 1 });
  }
}

function giveLater(plan: Plan, random: Random, what: What): void {
  const by = random.pick(plan.ids);
  plan.cluster.at(EPOCH + random.between(300, SPAN_MS * 1.1), () => {
    if (!anyEnded(plan) && isUp(plan, by)) give(plan, by, what);
  });
}

/** @param drained - an agent that is drained more often than others */
function drawDirective(random: Random, ids: readonly AgentId[], drained: AgentId): What {
  const host = random.pick(ids);
  if (random.chance(0.5)) {
    const isBack = random.chance(0.3);
    return {
      kind: 'drain',
      host: random.chance(0.5) ? drained : host,
      value: isBack ? null : 1,
    };
  }
  if (random.chance(0.7)) {
    return { kind: 'capacity', host, value: random.pick([null, 0.5, 1, 2, 3, 4]) };
  }
  const value = random.pick([null, 1, 2, 9]);
  return { kind: 'threads', host: random.chance(0.5) ? '*' : host, value };
}

/** Agents that did not know of each other may all be drained: the operator brings one back. */
export function undrainOne(plan: Plan): void {
  const { cluster, kind } = plan;
  if (kind !== 'shares') return;
  for (const after of [1, 2]) {
    cluster.at(cluster.now + after * SUSPECT_MS, () => {
      const up = plan.ids.filter((id) => isUp(plan, id));
      if (anyEnded(plan) || up.some((id) => cluster.snapshot(id).capacity > 0)) return;
      for (const id of up.slice(0, 1)) give(plan, id, { kind: 'drain', host: id, value: null });
    });
  }
}

function give({ cluster }: Plan, by: AgentId, what: What): void {
  const agent = cluster.agents.get(by)!;
  agent.inputs.push(() => {
    agent.core.operator.give(what, cluster.instant(by), () => {});
  });
}

/** The agent that is not drained dies. The other has copies, but may not fetch the rest. */
export function drainedAlone(): string[] {
  const c = crawling(['a1', 'a2']);
  const tell = (value: 1 | null) => {
    const { core } = c.agents.get('a2')!;
    core.operator.give({ kind: 'drain', host: 'a2', value }, c.instant('a2'), () => {});
  };
  tell(1);
  c.runUntil('a2 is drained', () => c.snapshot('a2').capacity === 0);
  c.run(SUSPECT_MS);
  c.kill('a1');
  c.run(10 * SUSPECT_MS);
  tell(null);
  c.runToEnd();
  return missing(c.log, c.web.keys());
}
