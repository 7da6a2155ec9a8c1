// What an agent records about its process in `DATA/ID`: `agent.pid`, its process number while it
// runs, and `agent.endpoint`, where it listens. The endpoint stays after the end, so that a restart
// and the other commands find the agent at the same place although `cluster.json` was lost.

import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ENDPOINT_FILE } from '../../config/file/ports.ts';

const PID_FILE = 'agent.pid';

/**
 * Each file by rename, so that a reader sees a whole one; the endpoint first, so that an agent that
 * is known to run has one.
 *
 * @param address - the endpoint that peers connect to
 */
export function recordProcess(directory: string, address: string): void {
  const contents = [
    [ENDPOINT_FILE, address],
    [PID_FILE, String(process.pid)],
  ] as const;
  for (const [name, text] of contents) {
    const path = join(directory, name);
    writeFileSync(`${path}.tmp`, `${text}\n`);
    renameSync(`${path}.tmp`, path);
  }
}

/** @throws where the disk takes no changes; readers check the process number against the lock */
export function removeProcess(directory: string): void {
  for (const name of [PID_FILE, `${PID_FILE}.tmp`]) rmSync(join(directory, name), { force: true });
}
