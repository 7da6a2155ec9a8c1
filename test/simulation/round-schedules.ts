// Schedules for the rules of a new round: an agent was absent, received no message about
// it, or received several. Each returns the violations at the end; `schedules.ts` names the rule.

import type { AgentId } from '../../agent/core/protocol/messages.ts';
import { brokenRounds } from '../checkers/rounds.ts';
import { Cluster, SUSPECT_MS } from './cluster.ts';
import { chainWeb } from './webs.ts';

const THREE = ['a1', 'a2', 'a3'];
const seeds = ['http://h0.test/p0'];

/** The violations of the rounds after all agents ended, or the fact that they did not end. */
function roundsAtTheEnd(c: Cluster): string[] {
  try {
    c.runToEnd(60 * SUSPECT_MS);
  } catch (error) {
    return [(error as Error).message.split('\n')[0]!];
  }
  const files = new Map([...c.disks].map(([id, { db }]) => [id, db]));
  return brokenRounds(files, (host) => c.order(host, [...files.keys()]));
}

function beginRound(c: Cluster, id: AgentId, round: number): void {
  const agent = c.agents.get(id)!;
  agent.inputs.push(() => agent.core.operator.refresh(round, c.instant(id)));
}

/**
 * An agent that was absent when a round was ordered returns with its rows of the previous round.
 */
export function lateForTheRound(): string[] {
  const c = new Cluster({ ids: THREE, web: chainWeb(20, 20), seeds });
  c.startAll();
  c.runUntil('half is fetched', () => c.fetched().size >= 200);
  c.kill('a3');
  beginRound(c, 'a1', 1);
  c.runUntil('a1 removes a3', () => c.snapshot('a1').members.length === 1);
  c.start('a3');
  return roundsAtTheEnd(c);
}

/** One agent receives no message about the round until long after the others have finished it. */
export function deafToTheRound(): string[] {
  const c = new Cluster({ ids: THREE, web: chainWeb(20, 6), seeds });
  c.startAll();
  c.runUntil('most is fetched', () => c.fetched().size >= 100);
  beginRound(c, 'a1', 1);
  const from = c.now;
  c.lose = (_, to, { type }) => to === 'a3' && type === 'ORDERS' && c.now < from + 9 * SUSPECT_MS;
  return roundsAtTheEnd(c);
}

/** Every agent receives the same round, and one of them receives it twice. */
export function toldManyTimes(): string[] {
  const c = new Cluster({ ids: THREE, web: chainWeb(20, 20), seeds });
  c.startAll();
  c.runUntil('some is fetched', () => c.fetched().size >= 100);
  for (const id of THREE) beginRound(c, id, 1);
  c.run(SUSPECT_MS);
  beginRound(c, 'a2', 1);
  const offences = roundsAtTheEnd(c);
  const often = [...c.fetched()].filter(([, times]) => times > 2);
  return [...offences, ...often.map(([url, times]) => `fetched ${times} times: ${url}`)];
}
