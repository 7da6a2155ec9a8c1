// Requirements of some faults that not every machine meets: the right to mount, a compiler,
// libfaketime. Each is tried once for a process. If one is missing, the tests that need it are
// skipped with the reason, and a storm names it in its first line. (network-namespaces.ts checks
// the requirements of kernel networks.)

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Longer than any mount or compilation takes. */
export const programMsMax = 20_000;

const looked = {
  mount: () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-mount-'));
    try {
      const said = tryRun('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', directory]);
      if (said !== null) return `no file system can be mounted here: ${said}`;
      tryRun('umount', [directory]);
      return null;
    } finally {
      fs.rmdirSync(directory);
    }
  },
  compiler: () => {
    if (process.platform !== 'linux') return `no library can be preloaded: not on Linux`;
    const said = tryRun('cc', ['--version']);
    return said === null ? null : `no library can be built to preload for the disk: ${said}`;
  },
  faketime: () =>
    clockLibrary() === undefined ? 'libfaketime is not installed (apt: faketime)' : null,
} as const;

export type Need = keyof typeof looked;

export const needs = Object.keys(looked) as Need[];

const found = new Map<Need, string | null>();

/** Why the requirement is not met, in words; null if it is met. */
export function obstacleTo(need: Need): string | null {
  const known = found.get(need);
  if (known !== undefined) return known;
  const obstacle = looked[need]();
  found.set(need, obstacle);
  return obstacle;
}

/** Path of the library in Debian's package `faketime`, for any processor. */
export function clockLibrary(): string | undefined {
  return fs.globSync('/usr/lib/*/faketime/libfaketimeMT.so.1')[0];
}

/** Null on success, else the error message. */
export function tryRun(program: string, words: readonly string[]): string | null {
  try {
    execFileSync(program, words, { timeout: programMsMax, stdio: ['ignore', 'ignore', 'pipe'] });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message.split('\n').slice(0, 2).join(' ') : String(error);
  }
}
