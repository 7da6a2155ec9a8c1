// What can befall the state file of a dead agent, by the faults of the matrix: a log that lost its
// tail or has a bit flipped, a page of noise, a file that is empty or gone while its log is whole.
// Done one by one by storage-rest.test.ts, and at random by the storm.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';

export interface Damage {
  readonly claim: string;
  /** The file must be set aside, and not be read on. */
  readonly aside?: true;
  /** `run` varies where it happens. */
  readonly to: (file: string, run: number) => void;
}

export const damages = {
  logCut: {
    claim: 'F35: the log is cut to half',
    to: (file) => fs.truncateSync(`${file}-wal`, fs.statSync(`${file}-wal`).size >> 1),
  },
  logFlipped: {
    claim: 'F36: a bit of the log is flipped',
    to: (file, run) => flip(`${file}-wal`, run),
  },
  noise: {
    claim: 'F37: a page of the file is noise',
    aside: true,
    to: (file) => {
      moveLogIn(file);
      overwrite(file, (fs.statSync(file).size >> 13) * 4096, 4096);
    },
  },
  empty: {
    claim: 'F38: the file is empty, its log whole',
    aside: true,
    to: (file) => fs.truncateSync(file, 0),
  },
  gone: {
    claim: 'F38: the file is gone, its log whole',
    aside: true,
    to: (file) => fs.rmSync(file),
  },
} as const satisfies Readonly<Record<string, Damage>>;

/** The file that an agent's state lies in. */
export function stateFile(dataDir: string, id: string): string {
  return path.join(dataDir, id, 'state.sqlite');
}

/** Noise over `length` bytes of the file from `at` on. */
export function overwrite(file: string, at: number, length: number): void {
  const descriptor = fs.openSync(file, 'r+');
  fs.writeSync(descriptor, Buffer.alloc(length, 0xa5), 0, length, at);
  fs.closeSync(descriptor);
}

/** In the first fifth, so that most of the log is behind it. */
function flip(file: string, run: number): void {
  const bytes = fs.readFileSync(file);
  assert.ok(bytes.length > 32, 'not exercised: the log is empty');
  bytes[32 + ((run * 7919) % Math.floor(bytes.length / 5))]! ^= 1 << (run % 8);
  fs.writeFileSync(file, bytes);
}

/** As a clean end does. */
function moveLogIn(file: string): void {
  new Database(file).exec('PRAGMA wal_checkpoint(TRUNCATE)').close();
}
