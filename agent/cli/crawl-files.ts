// The state files of a config's agents, opened for a command that reads them all: `query` and
// `export`. What cannot be read is said; with nothing to read the command ends.

import { type Config, membersOf } from '../../config/config.ts';
import type { ExitCode } from './exit-code.ts';
import { type CommonFlags, load } from './load.ts';
import { say } from './output.ts';
import { openStateFiles, type StateFile } from './query-files.ts';
import { ownersOf } from './query-owners.ts';
import { ClusterViews } from './query-views.ts';

export type CrawlFiles =
  | { readonly ok: false; readonly code: ExitCode }
  | {
      readonly ok: true;
      readonly files: readonly StateFile[];
      /** The views over all of them; to be closed by the caller. */
      readonly views: (onProblem: (message: string) => void) => ClusterViews;
    };

/** @param inVain - what cannot be done without a state, such as `nothing can be exported` */
export function openCrawlFiles(file: string, flags: CommonFlags, inVain: string): CrawlFiles {
  const loaded = load(file, flags);
  if (!loaded.ok) return loaded;
  const config: Config = loaded.config;
  const { dataDir } = config.agent;
  const { files, problems } = openStateFiles(
    dataDir,
    membersOf(config).map(({ id }) => id),
  );
  for (const problem of problems) say(problem);
  if (files.length > 0) {
    const { owner } = ownersOf(files, config);
    return { ok: true, files, views: (onProblem) => new ClusterViews(files, onProblem, owner) };
  }
  say(`${inVain}: no agent has a readable state in ${dataDir}`);
  return { ok: false, code: 1 };
}
