// Opens the state files of all agents for `query` and `export`. These commands report each file
// that they cannot read, print the rows of the others and exit with 4.

import { type Config, membersOf } from '../../../config/config.ts';
import { caller } from '../common/caller.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { type CommonFlags, launchCommand, load, nameOrLaunch } from '../common/load-config.ts';
import { say } from '../common/output.ts';
import { foundAgents, type StateFile, type StateFiles } from '../common/query-files.ts';
import { silentText } from '../remote/remote-agents.ts';
import type { RemoteStates } from '../remote/remote-states.ts';
import { freeStates, staleTexts } from '../remote/stale-states.ts';
import { openFilesOf } from './other-crawl.ts';
import { copiesOf, type Owners, ownersOf } from './query-owners.ts';
import { ClusterViews, sharedHosts, withMergedViews } from './query-views.ts';

/** Maximum number of attempts to open all files while no host moves to another machine. */
const OPENED_MAX = 3;

export type CrawlFiles =
  | { readonly ok: false; readonly code: ExitCode }
  | {
      readonly ok: true;
      readonly files: readonly StateFile[];
      /** The views over all files; must be closed by the caller. */
      readonly views: ClusterViews;
      /** Called after all rows are read. Reports missing and damaged files and returns 4 if any. */
      readonly end: () => 0 | 4;
    };

/**
 * @param inVain - the start of the message if no file is readable, such as `nothing to export`
 * @param views - what is read, also of agents on other machines; absent: only of this machine
 */
export async function openCrawlFiles(
  file: string,
  flags: CommonFlags,
  inVain: string,
  views?: readonly string[],
): Promise<CrawlFiles> {
  const loaded = load(file, flags, { part: true });
  if (!loaded.ok) return loaded;
  const config: Config = loaded.config;
  const all = await openAllFiles(config, views);
  const { files, problems, hasUnreadable, isPartial } = all;
  if (files.length === 0) {
    for (const problem of problems) say(problem);
    const what = `${inVain}: no agent has a readable state in ${config.agent.dataDir}`;
    say(hasUnreadable ? what : `${what}; ${nameOrLaunch(config)}`);
    return { ok: false, code: hasUnreadable ? 4 : 1 };
  }
  const owners = ownersOf(files, config);
  const { backups, view } = owners;
  // As in `audit`: every agent of the view has hosts; an agent that never joined has none.
  const absent = view.filter((id) => !files.some(({ agent }) => agent === id));
  const silent = absent.filter((id) => all.silent.includes(id));
  // A problem names each agent that runs elsewhere and whose state was not sent.
  const missing = absent.filter((id) => !silent.includes(id) && !all.running.includes(id));
  for (const problem of problems) {
    const isSilent = silent.some((id) => problem.startsWith(`${id}: no state in `));
    if (!isSilent) say(withOwners(problem, view));
  }
  for (const id of silent) say(silentText(id));
  let hasDamage = hasUnreadable;
  const onProblem = (message: string) => {
    hasDamage = true;
    say(message);
  };
  const end = () => {
    if (!hasDamage && missing.length === 0) return isPartial || silent.length > 0 ? 4 : 0;
    const unsaid = missing.filter((id) => !problems.some((said) => said.startsWith(`${id}: `)));
    const others = unsaid.length > 0 ? `; members without a state: ${unsaid.join(', ')}` : '';
    const remedy =
      missing.length > 0 ? whereElse(config, owners) : repairLines(config, copiesOf(backups, view));
    const what = `the output is not complete: a state is missing or damaged${others}`;
    // For `query`, all that answer elsewhere were asked.
    const live = views ? '' : '; `query` also reads agents that run elsewhere, with monitor.listen';
    say([what + live, ...remedy].join('\n'));
    return 4;
  };
  return { ok: true, files, views: new ClusterViews(files, onProblem, owners.owner), end };
}

/** The rows are complete without the state of an agent that is no member. */
function withOwners(problem: string, view: readonly string[]): string {
  const isMissing = / no state in /.test(problem);
  if (!isMissing || view.some((id) => problem.startsWith(`${id}: `))) return problem;
  return `${problem}; it is not a member now, so others own its hosts`;
}

interface AllFiles extends StateFiles {
  /** Rows of agents on other machines may be missing. */
  readonly isPartial: boolean;
  /** Agents of a running cluster that do not answer. */
  readonly silent: readonly string[];
  /** Agents that run on other machines. */
  readonly running: readonly string[];
}

const MOVING = 'hosts move between machines all the time, so some may be missing; repeat it later';

/**
 * With agents on other machines. Opened again if hosts have moved between machines meanwhile, and with
 * more views if some files claim the same host.
 */
async function openAllFiles(config: Config, views?: readonly string[]): Promise<AllFiles> {
  const { dataDir } = config.agent;
  const expected = membersOf(config).map(({ id }) => id);
  const agents = foundAgents(dataDir);
  // If only some run here, the others may run elsewhere; if none does, nobody could be asked.
  const isEven = [0, agents.length].includes(freeStates(dataDir).length);
  const isHere = isEven && expected.every((id) => agents.includes(id));
  if (views === undefined || (isHere && config.cluster.contacts.length === 0)) {
    return { ...openFilesOf(config, expected), isPartial: false, silent: [], running: [] };
  }
  const states = (await import('../remote/remote-states.ts')).RemoteStates;
  const merged = withMergedViews(views);
  let asked = views;
  let remote: RemoteStates | null = null;
  for (let opened = 1; ; opened++) {
    remote = await states.begin(config, caller().env, remote);
    const { silent, running, stale } = remote.found;
    const here = openFilesOf(
      config,
      expected.filter((id) => !running.includes(id)),
      stale,
    );
    const elsewhere = await remote.open(asked);
    const files = [...here.files, ...elsewhere.files];
    const hasMore = elsewhere.files.length > 0 && asked.length < merged.length;
    // The merge that reads the rows reports damage.
    const isLacking = hasMore && sharedHosts(files, () => {}).size > 0;
    if (isLacking) asked = merged;
    else if (!elsewhere.hasMoved || opened >= OPENED_MAX) {
      const moved = elsewhere.hasMoved ? [MOVING] : [];
      const missed = [...elsewhere.problems, ...moved];
      const isPartial = missed.length > 0;
      const problems = [...here.problems, ...staleTexts(stale, dataDir), ...missed];
      return { ...here, files, problems, isPartial, silent, running };
    }
    for (const file of files) file.close();
  }
}

/** Replaces the advice to repair, which would continue the crawl without the lost data. */
export const noCopies =
  'no other agent has copies (cluster.backups, number of agents): restore it from a backup of your own';

/** The remedy for a member without state in the data directory. */
export function whereElse(config: Config, owners: Owners): string[] {
  return [
    'if it is in another data directory, or on another machine: copy the directories of all agents',
    'into one directory and name it with --data; if it is lost:',
    ...repairLines(config, copiesOf(owners.backups, owners.view)),
  ];
}

/**
 * The remedy for lost or damaged states, as lines of output.
 *
 * @param copies - number of other agents that have a copy of each host
 */
export function repairLines(config: Config, copies: number): string[] {
  if (copies === 0) return [noCopies];
  return [
    'to restore it from the copies of the other agents, while no agent runs:',
    `  ${launchCommand(config, ' --repair')}`,
  ];
}
