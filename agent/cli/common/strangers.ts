// Finds agents of the crawl that run on this machine, but are no longer in the config, because they were
// removed or renamed. Commands reach them at the endpoint that each records in its directory.

import fs from 'node:fs';
import { join } from 'node:path';
import { type AgentEntry, type Config, membersOf } from '../../../config/config.ts';
import { recordedEndpoint } from '../../../config/file/ports.ts';
import { CRAWL_NAME } from '../../storage/reads/coverage-queries.ts';
import { openStateFile } from './query-files.ts';
import { isLocked } from './running.ts';

export function strangersOf(config: Config): readonly AgentEntry[] {
  const { dataDir } = config.agent;
  const known = membersOf(config).map(({ id }) => id);
  return namesIn(dataDir).flatMap((id) => {
    const directory = join(dataDir, id);
    if (known.includes(id) || !isLocked(directory)) return [];
    const address = recordedEndpoint(directory);
    if (address === null || !isOfCrawl(config, id)) return [];
    return [{ id, listen: address, address, capacity: 1 }];
  });
}

function namesIn(directory: string): readonly string[] {
  try {
    return fs.readdirSync(directory).sort();
  } catch {
    return [];
  }
}

/** Whether the agent's state is of this crawl: crawls may share a data directory. */
function isOfCrawl({ name, agent }: Config, id: string): boolean {
  const file = openStateFile(id, join(agent.dataDir, id, 'state.sqlite'));
  if (typeof file === 'string') return false;
  try {
    const [[crawl] = []] = file.plainRows(CRAWL_NAME);
    return crawl === name;
  } catch {
    return false;
  } finally {
    file.close();
  }
}
