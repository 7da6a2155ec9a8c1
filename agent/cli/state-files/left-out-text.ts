// Messages about agents whose states hold work that no started agent would continue, with the
// commands that help.

import path from 'node:path';
import { type Config, membersOf } from '../../../config/config.ts';
import { shownCrawl, startCommand } from '../common/load-config.ts';
import { count, printable, programName } from '../common/output.ts';
import { isLocked } from '../common/running.ts';
import type { LeftOut } from './left-out.ts';

/** Lines of one kind in a message, which must stay short if many agents are meant. */
const shownMax = 3;

/** For example `a3: 95 queued URLs and 3 fetched pages of 12 hosts (h1, h2, …)`. */
export function leftOutText({ agent, hosts, queued, pages, samples }: LeftOut): string {
  const what = [
    ...(queued > 0 ? [`${count(queued)} queued ${queued === 1 ? 'URL' : 'URLs'}`] : []),
    ...(pages > 0 ? [`${count(pages)} fetched ${pages === 1 ? 'page' : 'pages'}`] : []),
  ].join(' and ');
  const named = [...samples.map(printable), ...(hosts > samples.length ? ['…'] : [])].join(', ');
  return `${agent}: ${what} of ${count(hosts)} ${hosts === 1 ? 'host' : 'hosts'} (${named})`;
}

export interface RefusedLaunch {
  /** Agents that the refused launch would have started. */
  readonly chosen: readonly string[];
  /** Agents of the config that this machine can start. */
  readonly local: readonly string[];
  /** Flags of the refused launch, which the printed command repeats. */
  readonly refresh: boolean;
  readonly repair: boolean;
}

/** The message of a refused launch. Its commands can be run as printed. */
export function leftOutRefusal(
  config: Config,
  leftOut: readonly LeftOut[],
  { chosen, local, refresh, repair }: RefusedLaunch,
): string {
  const ids = leftOut.map(({ agent }) => agent);
  const strangers = ids.filter((id) => !membersOf(config).some((member) => member.id === id));
  const crawl = shownCrawl(config);
  const again = `${refresh ? ' --refresh' : ''}${repair ? ' --repair' : ''}`;
  const all = local.filter((id) => chosen.includes(id) || ids.includes(id));
  // With the previous config all its agents are started: today's ids may have had other names in
  // it.
  const which = strangers.length > 0 ? '' : ` --agents ${all.join(',')}`;
  return [
    'not started, because work of other agents would be left out; only their states have:',
    ...shortened(leftOut.map(leftOutText)),
    ...backText(config, strangers),
    'start them too:',
    `  ${programName()} launch ${crawl}${which}${again}`,
    'to retire them, start them in this way, and while they run let them hand over their hosts:',
    `  ${programName()} stop ${crawl} ${ids.join(' ')}`,
    `to discard what only they have, move their directories out of ${config.agent.dataDir}`,
  ].join('\n');
}

/** The note of `launch --fresh` about states that it does not empty. */
export function besideText(config: Config, agents: readonly string[]): string {
  const { dataDir } = config.agent;
  return (
    `--fresh does not start ${agents.join(', ')}, so URLs of the earlier crawl in ${dataDir} count ` +
    `as part of the new one: stop, move the directories of these agents out of ${dataDir}, and ` +
    'launch with --fresh again'
  );
}

/** How to start agents that joined through contacts, or restore those that the config had. */
function backText(config: Config, strangers: readonly string[]): string[] {
  if (strangers.length === 0) return [];
  const { cluster } = config;
  if (cluster.contacts.length > 0) {
    const starts = strangers.map((id) => startCommand(id, config));
    return ['first start those that are not in the config:', ...shortened(starts)];
  }
  const numbers = strangers.map((id) => Number(/^a(\d+)$/.exec(id)?.[1] ?? Number.NaN));
  const isNumbered = typeof cluster.agents === 'number' && numbers.every(Number.isSafeInteger);
  const how = isNumbered
    ? `set cluster.agents to ${Math.max(...numbers)} again`
    : 'put each back into cluster.agents under that id';
  return [`the config does not have ${strangers.join(', ')} (removed, or renamed): ${how}, then`];
}

/** The first lines, indented, and how many there are besides. */
function shortened(lines: readonly string[]): string[] {
  const shown = lines.slice(0, shownMax).map((line) => `  ${line}`);
  const more = lines.length - shown.length;
  return more > 0 ? [...shown, `  and ${more} more`] : shown;
}

/** The message of an agent at its exit, and at its start without `launch`. */
export function openWorkText(config: Config, leftOut: readonly LeftOut[]): string {
  const isRunning = ({ agent }: LeftOut) => isLocked(path.join(config.agent.dataDir, agent));
  const running = leftOut.filter(isRunning);
  const idle = leftOut.filter((one) => !running.includes(one));
  return [
    ...(running.length > 0 ? ['the crawl is not complete: running agents still have'] : []),
    ...shortened(running.map(leftOutText)),
    ...(idle.length > 0 ? idleText(config, idle) : []),
  ].join('\n');
}

/** Why agent `id` ends though the crawl is not complete. */
export function unfinishedText(config: Config, leftOut: readonly LeftOut[], id: string): string {
  const isRunning = ({ agent }: LeftOut) => isLocked(path.join(config.agent.dataDir, agent));
  const next = leftOut.every(isRunning) ? 'to continue with them' : 'then start this agent again';
  const open = openWorkText(config, leftOut);
  return `has no work left, but ${open}\n${next}:\n  ${startCommand(id, config)}`;
}

function idleText(config: Config, leftOut: readonly LeftOut[]): string[] {
  const known = leftOut.filter(({ agent }) => membersOf(config).some(({ id }) => id === agent));
  const strangers = leftOut.filter((one) => !known.includes(one)).map(({ agent }) => agent);
  return [
    'the crawl is not complete, because some agents do not run; only their states have:',
    ...shortened(leftOut.map(leftOutText)),
    ...(config.cluster.contacts.length > 0 ? [] : backText(config, strangers)),
    'start each beside the others:',
    ...shortened(leftOut.map(({ agent }) => startCommand(agent, config))),
    `to discard what only they have, move their directories out of ${config.agent.dataDir}`,
  ];
}
