// Records an agent's process in `DATA/ID`: `agent.pid` has its process number while it runs, and
// `agent.endpoint` the address on which it listens. The endpoint stays after the process ends, so a
// restart and other commands find the agent at the same address even without `cluster.json`.

import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ENDPOINT_FILE } from '../../config/values/agent-endpoint.ts';

const PID_FILE = 'agent.pid';

/**
 * Writes each file by rename, so that readers see a whole one. The endpoint is first, so that an
 * agent with a process number always has one.
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

/**
 * @throws if the disk is read-only. A process number that remains is harmless: readers check it
 *   against the lock.
 */
export function removeProcess(directory: string): void {
  for (const name of [PID_FILE, `${PID_FILE}.tmp`]) rmSync(join(directory, name), { force: true });
}
