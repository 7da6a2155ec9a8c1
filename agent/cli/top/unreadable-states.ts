// Finds state files on this machine that cannot be read. An agent with such a file does not start, or
// has ended, so only the files of agents that do not answer are looked at.

import fs from 'node:fs';
import { whyNotReadable } from '../../storage/file/reading.ts';
import { stateFileOf } from '../common/query-files.ts';

export interface Unreadable {
  readonly agent: string;
  readonly path: string;
  /** A clause that follows the path. */
  readonly why: string;
}

/** @param agents - those that do not answer */
export function unreadableStates(dataDir: string, agents: readonly string[]): Unreadable[] {
  return agents.flatMap((agent) => {
    const path = stateFileOf(dataDir, agent);
    if (!fs.existsSync(path)) return [];
    const why = whyNotReadable(path);
    return why === null ? [] : [{ agent, path, why }];
  });
}
