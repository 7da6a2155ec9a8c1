// Opens the state files of all agents for `query` and `export`. These commands report each file
// that they cannot read, print the rows of the others and exit with 4.

import { type Config, membersOf } from '../../../config/config.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { type CommonFlags, launchCommand, load } from '../common/load-config.ts';
import { say } from '../common/output.ts';
import type { StateFile } from '../common/query-files.ts';
import { openFilesOf } from './other-crawl.ts';
import { copiesOf, type Owners, ownersOf } from './query-owners.ts';
import { ClusterViews } from './query-views.ts';

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

/** @param inVain - the start of the message if no file is readable, such as `nothing to export` */
export function openCrawlFiles(file: string, flags: CommonFlags, inVain: string): CrawlFiles {
  const loaded = load(file, flags, { part: true });
  if (!loaded.ok) return loaded;
  const config: Config = loaded.config;
  const { files, problems, hasUnreadable } = openFilesOf(
    config,
    membersOf(config).map(({ id }) => id),
  );
  for (const problem of problems) say(problem);
  if (files.length === 0) {
    say(`${inVain}: no agent has a readable state in ${config.agent.dataDir}`);
    return { ok: false, code: hasUnreadable ? 4 : 1 };
  }
  const owners = ownersOf(files, config);
  const { backups, view } = owners;
  // As in `audit`: every agent of the view has hosts; an agent that never joined has none.
  const missing = view.filter((id) => !files.some(({ agent }) => agent === id));
  let hasDamage = hasUnreadable;
  const onProblem = (message: string) => {
    hasDamage = true;
    say(message);
  };
  const end = () => {
    if (!hasDamage && missing.length === 0) return 0;
    const unsaid = missing.filter((id) => !problems.some((said) => said.startsWith(`${id}: `)));
    const absent = unsaid.length > 0 ? `; members without a state: ${unsaid.join(', ')}` : '';
    say(`the output is not complete: a state is missing or damaged${absent}`);
    const remedy =
      missing.length > 0 ? whereElse(config, owners) : repairLines(config, copiesOf(backups, view));
    say(remedy.join('\n'));
    return 4;
  };
  return { ok: true, files, views: new ClusterViews(files, onProblem, owners.owner), end };
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
