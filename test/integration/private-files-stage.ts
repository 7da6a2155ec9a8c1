// The set-up shared by `private-files.test.ts` and `slow/private-files.test.ts`.

import fs from 'node:fs';
import path from 'node:path';
import { startWeb } from '../web/server.ts';
import { run, type Scratch, start, until } from './cli-process.ts';

// The default of most systems: other users may read.
process.umask(0o022);

export const size = {
  hosts: 6,
  pages: 6,
  port: 0,
  net: 47,
  sparse: true,
  shares: { flaky: 0, slow: 0 },
};
/** Settings of a crawl that still runs when the test reads the modes. */
export const crawl = { politeness: { hostDelayMs: 1500 } };

/** The mode of the directory and of each file and directory in it. */
export function modesBelow(directory: string): Map<string, string> {
  const entries = fs.readdirSync(directory, { recursive: true, encoding: 'utf8' });
  const modeOf = (file: string) => (fs.statSync(file).mode & 0o777).toString(8);
  const modes = entries.map((name) => [name, modeOf(path.join(directory, name))] as const);
  return new Map([['.', modeOf(directory)], ...modes]);
}

export async function crawlInto(scratch: Scratch): Promise<Map<string, string>> {
  const web = await startWeb(size);
  try {
    const config = await scratch.config(2, { seeds: [web.seed], ...crawl });
    const launch = start(['launch', config]);
    await until('pages', () => web.requests().length >= 6);
    const modes = modesBelow(scratch.dataDir);
    await run('stop', config);
    await launch.ended;
    return modes;
  } finally {
    await web.stop();
  }
}
