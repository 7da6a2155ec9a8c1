// Schedules for the rules of a new round (adr/0029): who was away, who heard nothing, who heard it more
// than once. Each gives what is wrong at the end; `schedules.ts` names the rule that it is for.

import type { AgentId } from '../../agent/core/protocol/messages.ts';
import { brokenRounds } from '../checkers/rounds.ts';
import { Cluster, SUSPECT_MS } from './cluster.ts';
import { chainWeb } from './webs.ts';

const THREE = ['a1', 'a2', 'a3'];
const seeds = ['http://h0.test/p0'];

/** What is wrong with the rounds when all have ended, or that they have not. */
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

/** One that was away when a round was ordered comes back with its rows of the round before. */
export function lateForTheRound(): string[] {
  const c = new Cluster({ ids: THREE, web: chainWeb(20, 20), seeds });
  c.startAll();
  c.runUntil('half is fetched', () => c.fetched().size >= 200);
  c.kill('a3');
  beginRound(c, 'a1', 1);
  c.runUntil('a3 is given up', () => c.snapshot('a1').members.length === 1);
  c.start('a3');
  return roundsAtTheEnd(c);
}

/** No word of the round comes to one of them until long after the others have done their part. */
export function deafToTheRound(): string[] {
  const c = new Cluster({ ids: THREE, web: chainWeb(20, 6), seeds });
  c.startAll();
  c.runUntil('most is fetched', () => c.fetched().size >= 100);
  beginRound(c, 'a1', 1);
  const from = c.now;
  c.lose = (_, to, { type }) => to === 'a3' && type === 'ORDERS' && c.now < from + 9 * SUSPECT_MS;
  return roundsAtTheEnd(c);
}

/** The same round is told to every agent, and to one of them again. */
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
