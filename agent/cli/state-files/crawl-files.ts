// The state files of a config's agents, opened for a command that reads them all: `query` and
// `export`. The command names each file that it cannot read, prints the rest, and ends with 4. Where
// it can read no file it ends at once.

import { type Config, membersOf } from '../../../config/config.ts';
import type { ExitCode } from '../common/exit-code.ts';
import { type CommonFlags, load, shownCrawl } from '../common/load-config.ts';
import { programName, say } from '../common/output.ts';
import type { StateFile } from '../common/query-files.ts';
import { openFilesOf } from './other-crawl.ts';
import { copiesOf, type Owners, ownersOf } from './query-owners.ts';
import { ClusterViews } from './query-views.ts';

export type CrawlFiles =
  | { readonly ok: false; readonly code: ExitCode }
  | {
      readonly ok: true;
      readonly files: readonly StateFile[];
      /** The views over all of them; to be closed by the caller. */
      readonly views: ClusterViews;
      /** Once all is read: 4, and said, where the file of some agent was missing or damaged. */
      readonly end: () => 0 | 4;
    };

/** @param inVain - what cannot be done without a state, such as `nothing can be exported` */
export function openCrawlFiles(file: string, flags: CommonFlags, inVain: string): CrawlFiles {
  const loaded = load(file, flags, { part: true });
  if (!loaded.ok) return loaded;
  const config: Config = loaded.config;
  const { dataDir } = config.agent;
  const { files, problems, hasUnreadable } = openFilesOf(
    config,
    membersOf(config).map(({ id }) => id),
  );
  for (const problem of problems) say(problem);
  if (files.length > 0) {
    const owners = ownersOf(files, config);
    const { owner, view } = owners;
    // `audit` goes by the same rule: an agent that was in view has hosts, one that never joined has
    // none.
    const missing = view.filter((id) => !files.some(({ agent }) => agent === id));
    let hasDamage = hasUnreadable;
    const onProblem = (message: string) => {
      hasDamage = true;
      say(message);
    };
    const end = () => {
      if (!hasDamage && missing.length === 0) return 0;
      const unsaid = missing.filter((id) => !problems.some((said) => said.startsWith(`${id}: `)));
      const absent =
        unsaid.length > 0 ? `; in view, and without a state: ${unsaid.join(', ')}` : '';
      say(`the output is not complete: a state is missing or damaged${absent}`);
      const remedy =
        missing.length > 0
          ? whereElse(config, owners)
          : repairLines(config, copiesOf(owners.backups, owners.view));
      say(remedy.join('\n'));
      return 4;
    };
    return { ok: true, files, views: new ClusterViews(files, onProblem, owner), end };
  }
  say(`${inVain}: no agent has a readable state in ${dataDir}`);
  return { ok: false, code: hasUnreadable ? 4 : 1 };
}

/** Said in place of a repair, which would go on without what is lost. */
export const noCopies =
  'no other agent has copies (cluster.backups, number of agents): restore it from a backup of your own';

/** What helps where an agent that is in view has no state in the data directory. */
export function whereElse(config: Config, owners: Owners): string[] {
  return [
    'if it is in another data directory, or on another machine: bring the directories of all agents',
    'together and name where with --data; if it is lost:',
    ...repairLines(config, copiesOf(owners.backups, owners.view)),
  ];
}

/** What helps where states are lost, or damaged, of which so many other agents have copies. */
export function repairLines(config: Config, copies: number): string[] {
  if (copies === 0) return [noCopies];
  return [
    'to restore it from the copies of the other agents, while none runs:',
    `  ${programName()} launch ${shownCrawl(config)} --repair`,
  ];
}
