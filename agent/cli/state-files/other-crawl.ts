// Separates the state files of crawls that share a data directory. A crawl is identified by its
// name; commands neither read nor change the state files of another crawl.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, membersOf } from '../../../config/config.ts';
import { Refusal } from '../common/exit-code.ts';
import { shownPath } from '../common/load-config.ts';
import {
  openStateFile,
  openStateFiles,
  type StateFile,
  type StateFiles,
} from '../common/query-files.ts';

/** An error message if one of these agents has a state of another crawl; else null. */
export function otherCrawlOf(config: Config, ids: readonly string[]): string | null {
  for (const id of ids) {
    const path = join(config.agent.dataDir, id, 'state.sqlite');
    if (!existsSync(path)) continue;
    const file = openStateFile(id, path);
    if (typeof file === 'string') continue;
    const other = file.otherCrawl(config.name);
    file.close();
    if (other !== undefined) return otherText(config, path, other);
  }
  return null;
}

/**
 * Opens the state files of this crawl.
 *
 * @param except - agents whose files are not read
 * @param needsAll - as in `openStateFiles`
 * @throws Refusal if the state of an agent of the config, or every state found, is of another crawl
 */
export function openFilesOf(
  config: Config,
  expected: readonly string[],
  except: readonly string[] = [],
  needsAll = true,
): StateFiles {
  const found = openStateFiles(config.agent.dataDir, expected, { except, needsAll });
  const members = membersOf(config).map(({ id }) => id);
  const { own, others } = ownFiles(found.files, config.name);
  const refused = others.find(([{ agent }]) => own.length === 0 || members.includes(agent));
  const unused = refused ? found.files : others.map(([file]) => file);
  for (const file of unused) file.close();
  if (refused) throw new Refusal(4, otherText(config, refused[0].path, refused[1]));
  return { ...found, files: own };
}

/** Separates the files of the crawl from those of others, with the names of these. */
export function ownFiles(
  files: readonly StateFile[],
  crawl: string,
): {
  readonly own: readonly StateFile[];
  readonly others: readonly (readonly [StateFile, string])[];
} {
  const own: StateFile[] = [];
  const others: (readonly [StateFile, string])[] = [];
  for (const file of files) {
    const other = file.otherCrawl(crawl);
    if (other === undefined) own.push(file);
    else others.push([file, other]);
  }
  return { own, others };
}

/**
 * For commands that read only the completion record, which does not name its crawl.
 *
 * @throws Refusal as `openFilesOf` does
 */
export function refuseOtherCrawl(config: Config): void {
  for (const file of openFilesOf(config, [], [], false).files) file.close();
}

function otherText(config: Config, path: string, other: string): string {
  return (
    `${path} belongs to crawl '${other}', not '${config.name}'; ` +
    `restore 'name: ${other}' in ${shownPath(config)}, or name another directory with --data`
  );
}
