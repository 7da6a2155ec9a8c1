// Disks that a test can break under a real agent: a small in-memory file system that it can fill,
// empty or make read-only, and a preloaded library that makes the disk slow or fail on command. If
// the right to mount or a compiler is missing (`needs.ts`), both return the reason and the tests
// are skipped.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { obstacleTo, programMsMax, tryRun } from './needs.ts';

const ballastChunk = Buffer.alloc(64 * 1024);

export class SmallDisk {
  readonly directory: string;

  private constructor(directory: string) {
    this.directory = directory;
  }

  /**
   * Mounts a disk of that size at the place of the agent's files, until the end of the test.
   *
   * @param place - `DATA/ID`, which must not exist yet
   * @returns the reason, in words, if this is impossible
   */
  static mount(t: Pick<TestContext, 'after'>, place: string, kib: number): SmallDisk | string {
    const obstacle = obstacleTo('mount');
    if (obstacle !== null) return obstacle;
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-disk-'));
    const mounted = tryRun('mount', ['-t', 'tmpfs', '-o', `size=${kib}k`, 'tmpfs', directory]);
    if (mounted !== null) {
      fs.rmdirSync(directory);
      throw new Error(`no file system at ${directory}: ${mounted}`);
    }
    t.after(() => {
      // Lazily, in case the agent is still running.
      tryRun('umount', ['-l', directory]);
      fs.rmdirSync(directory);
    });
    fs.mkdirSync(path.dirname(place), { recursive: true });
    fs.symlinkSync(directory, place);
    return new SmallDisk(directory);
  }

  /** Fills all remaining space. */
  fill(): void {
    const file = fs.openSync(path.join(this.directory, 'ballast'), 'w');
    try {
      for (let chunk = ballastChunk; chunk.length > 0; ) {
        try {
          fs.writeSync(file, chunk);
        } catch {
          chunk = chunk.subarray(0, chunk.length >> 1);
        }
      }
    } finally {
      fs.closeSync(file);
    }
  }

  empty(): void {
    fs.rmSync(path.join(this.directory, 'ballast'));
  }

  /** Throws while a file on the disk is open for writing. */
  setReadOnly(readOnly: boolean): void {
    const options = `remount,${readOnly ? 'ro' : 'rw'}`;
    execFileSync('mount', ['-o', options, this.directory], { timeout: programMsMax });
  }
}

/**
 * Replaces the system's fsync and write. `DISK_FSYNC_MS` makes each fsync take that long. While the
 * file `DISK_FAILS` exists, every write to a state file fails as on a broken disk.
 */
const source = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void slow(void) {
  const char *ms = getenv("DISK_FSYNC_MS");
  if (ms) usleep(1000 * atoi(ms));
}
int fsync(int fd) {
  int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
  slow();
  return real(fd);
}
int fdatasync(int fd) {
  int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
  slow();
  return real(fd);
}
static int fails(int fd) {
  const char *trigger = getenv("DISK_FAILS");
  if (!trigger || access(trigger, F_OK) != 0) return 0;
  char link[64], name[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, name, sizeof name - 1);
  if (n < 0) return 0;
  name[n] = 0;
  if (!strstr(name, "state.sqlite")) return 0;
  errno = EIO;
  return 1;
}
ssize_t write(int fd, const void *bytes, size_t n) {
  ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
  return fails(fd) ? -1 : real(fd, bytes, n);
}
ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at) {
  ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
  return fails(fd) ? -1 : real(fd, bytes, n, at);
}
ssize_t pwrite64(int fd, const void *bytes, size_t n, off_t at) {
  ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite64");
  return fails(fd) ? -1 : real(fd, bytes, n, at);
}
`;

/** A disk that can fail: provides the environment for an agent. */
export interface BadDisk {
  env(how: { fsyncMs?: number; failsWhen?: string }): Record<string, string>;
}

/** @returns the reason, in words, if this is impossible */
export function badDisk(t: Pick<TestContext, 'after'>): BadDisk | string {
  const obstacle = obstacleTo('compiler');
  if (obstacle !== null) return obstacle;
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-shim-'));
  t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
  const code = path.join(directory, 'disk.c');
  const library = path.join(directory, 'disk.so');
  fs.writeFileSync(code, source);
  const compiled = tryRun('cc', ['-shared', '-fPIC', '-O1', '-o', library, code, '-ldl']);
  if (compiled !== null) throw new Error(`not compiled: ${compiled}`);
  return {
    env: ({ fsyncMs, failsWhen }) => ({
      LD_PRELOAD: library,
      ...(fsyncMs === undefined ? {} : { DISK_FSYNC_MS: String(fsyncMs) }),
      ...(failsWhen === undefined ? {} : { DISK_FAILS: failsWhen }),
    }),
  };
}
