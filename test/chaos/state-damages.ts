// Damages of a dead agent's state file: a log that lost its tail or has a flipped bit, a page of
// noise, a file that is empty or missing while its log is intact. storage-rest.test.ts applies each
// of them, and the storm random ones.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';

export interface Damage {
  readonly claim: string;
  /** The agent must set the file aside instead of reading it. */
  readonly aside?: true;
  /** `run` varies the place. */
  readonly to: (file: string, run: number) => void;
}

export const damages = {
  logCut: {
    claim: 'the log is cut to half',
    to: (file) => fs.truncateSync(`${file}-wal`, fs.statSync(`${file}-wal`).size >> 1),
  },
  logFlipped: {
    claim: 'a bit of the log is flipped',
    to: (file, run) => flip(`${file}-wal`, run),
  },
  noise: {
    claim: 'a page of the file is noise',
    aside: true,
    to: (file) => {
      moveLogIn(file);
      overwrite(file, (fs.statSync(file).size >> 13) * 4096, 4096);
    },
  },
  empty: {
    claim: 'the file is empty but its log is intact',
    aside: true,
    to: (file) => fs.truncateSync(file, 0),
  },
  gone: {
    claim: 'the file is missing but its log is intact',
    aside: true,
    to: (file) => fs.rmSync(file),
  },
} as const satisfies Readonly<Record<string, Damage>>;

/** The file with the agent's state. */
export function stateFile(dataDir: string, id: string): string {
  return path.join(dataDir, id, 'state.sqlite');
}

/** Writes noise over `length` bytes of the file from `at` on. */
export function overwrite(file: string, at: number, length: number): void {
  const descriptor = fs.openSync(file, 'r+');
  fs.writeSync(descriptor, Buffer.alloc(length, 0xa5), 0, length, at);
  fs.closeSync(descriptor);
}

/** Flips a bit in the first fifth, so that most of the log follows it. */
function flip(file: string, run: number): void {
  const bytes = fs.readFileSync(file);
  assert.ok(bytes.length > 32, 'not exercised: the log is empty');
  bytes[32 + ((run * 7919) % Math.floor(bytes.length / 5))]! ^= 1 << (run % 8);
  fs.writeFileSync(file, bytes);
}

/** Moves the log into the file, as a clean end does. */
function moveLogIn(file: string): void {
  new Database(file).exec('PRAGMA wal_checkpoint(TRUNCATE)').close();
}
