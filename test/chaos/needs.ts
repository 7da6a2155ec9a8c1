// What some faults need and not every machine has: the right to mount, a compiler, libfaketime. Each
// is looked for once a process, by trying; what cannot be had is told in words, which the tests that
// need it are skipped with, and which a storm says in its first line. (What networks of the kernel
// need is a matter of network-namespaces.ts alone.)

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** A program that mounts or compiles is done long before. */
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
    if (process.platform !== 'linux') return `no library stands before the disk: not on Linux`;
    const said = tryRun('cc', ['--version']);
    return said === null ? null : `no library can be built to stand before the disk: ${said}`;
  },
  faketime: () =>
    clockLibrary() === undefined ? 'libfaketime is not installed (apt: faketime)' : null,
} as const;

export type Need = keyof typeof looked;

export const needs = Object.keys(looked) as Need[];

const found = new Map<Need, string | null>();

/** Why it cannot be had, in words; null where it is there. */
export function obstacleTo(need: Need): string | null {
  const known = found.get(need);
  if (known !== undefined) return known;
  const obstacle = looked[need]();
  found.set(need, obstacle);
  return obstacle;
}

/** Where Debian's package `faketime` puts it, for whatever processor. */
export function clockLibrary(): string | undefined {
  return fs.globSync('/usr/lib/*/faketime/libfaketimeMT.so.1')[0];
}

/** Null if it went well, else what it said. */
export function tryRun(program: string, words: readonly string[]): string | null {
  try {
    execFileSync(program, words, { timeout: programMsMax, stdio: ['ignore', 'ignore', 'pipe'] });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message.split('\n').slice(0, 2).join(' ') : String(error);
  }
}
