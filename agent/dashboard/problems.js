// What is wrong now: a cause and a remedy for each problem, the worst first.

import { count, duration } from './format.js';

const LOOP_DELAY_MS = 250;
const RSS_BYTES = 1.5e9;

/** @returns {{ level: 'bad' | 'warn', what: string, remedy: string, link?: string }[]} */
export function problemsOf(view) {
  if (!view) return [];
  const found = [];
  const add = (level, what, remedy, link) => found.push({ level, what, remedy, link });
  const { agents, unreachable, complete, name } = view;
  for (const { agent, why } of view.unsound ?? []) {
    add('bad', `${agent}: ${why}`, 'run "ubiring launch --repair": it restores the state from copies');
  }
  if (!complete && agents.length === 0) {
    const why = view.failures[0] ?? 'no agent answers';
    add('bad', `No agent of ${name} answers: ${why}`, 'run "ubiring launch": the crawl continues');
  }
  if (!complete && agents.length > 0) {
    for (const id of unreachable) {
      const remedy = 'the others take over its hosts; start it again on its machine if it does not run';
      add('bad', `${id} does not answer`, remedy, '#agents');
    }
  }
  if ((view.groups ?? []).length > 1) {
    const groups = view.groups.map((ids) => ids.join(', ')).join(' and ');
    add('bad', `${groups} do not know each other`, 'stop all groups but one, and start them with a contact');
  }
  for (const agent of agents) problemsOfAgent(agent, view, add);
  if (agents.some(({ paused }) => paused)) {
    add('warn', 'The crawl is paused', 'resume it with the button above', '#directives');
  }
  return found.sort((a, b) => (a.level === b.level ? 0 : a.level === 'bad' ? -1 : 1));
}

function problemsOfAgent(agent, { suspectAfterMs }, add) {
  const { id } = agent;
  if (agent.waits) add('warn', `${id} waits: this agent ${agent.waits}`, 'see its log', '#agents');
  for (const other of agent.members) {
    if (other.silentMs < suspectAfterMs / 2) continue;
    const remedy = 'look at the network between them; it is removed after the configured time';
    add('warn', `${id} has not heard ${other.id} for ${duration(other.silentMs)}`, remedy, '#overview');
  }
  if (agent.copyLag > 50) {
    const remedy = 'wait: copies are sent all the time; a crash now could lose the newest pages of these hosts';
    add('warn', `${id}: copies of ${count(agent.copyLag)} hosts are behind`, remedy, '#agents');
  }
  if (agent.loopDelayMs > LOOP_DELAY_MS) {
    const remedy = 'give it more CPU, fewer agent.threads, or a faster disk';
    add('warn', `${id} is slow: its event loop is ${duration(agent.loopDelayMs)} late`, remedy, '#agents');
  }
  if (agent.rssBytes > RSS_BYTES) {
    add('warn', `${id} uses much memory`, 'lower agent.threads or limits.bodyBytes', '#agents');
  }
  if (agent.hostsAwaitingRobots > 0) {
    const why = agent.robotsWaitReason ? ` (${agent.robotsWaitReason})` : '';
    const what = `${id}: the robots.txt of ${count(agent.hostsAwaitingRobots)} hosts is out of reach${why}`;
    add('warn', what, 'it is tried again; look at one of these hosts', '#hosts?state=backing off');
  }
  for (const { agent: other, claim, count: times } of agent.refused) {
    const remedy = 'compare the configs, versions and clocks of both agents';
    add('warn', `${id} refused ${claim} of ${other}, ${count(times)} times`, remedy, '#events');
  }
  const pages = agent.budgets?.pages;
  if (pages?.reached) add('warn', 'limits.pages is reached', 'raise it, and launch again');
}
