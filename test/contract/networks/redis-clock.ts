// A redis-server whose clock a test can move. libfaketime cannot be loaded into it, so a library of
// a few lines is compiled: it adds the milliseconds in a file to the machine's wall clock. The
// monotonic clock, and the timers of Redis that use it, stay unchanged.

import fs from 'node:fs';
import path from 'node:path';
import { obstacleTo, tryRun } from '../../chaos/needs.ts';
import { RedisProcess, withoutRedis } from './redis-process.ts';

const source = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile int64_t *ms;
__attribute__((constructor)) static void begin(void) {
  int fd = open(getenv("CLOCK_FILE"), O_RDONLY);
  ms = mmap(0, 8, PROT_READ, MAP_SHARED, fd, 0);
}
static int64_t micros(void) {
  struct timespec real;
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &real);
  return real.tv_sec * 1000000LL + real.tv_nsec / 1000 + (ms ? *ms * 1000 : 0);
}
int gettimeofday(struct timeval *tv, void *zone) {
  int64_t now = micros();
  tv->tv_sec = now / 1000000;
  tv->tv_usec = now % 1000000;
  return 0;
}
time_t time(time_t *to) {
  time_t now = micros() / 1000000;
  if (to) *to = now;
  return now;
}
int clock_gettime(clockid_t id, struct timespec *to) {
  if (id != CLOCK_REALTIME) return syscall(SYS_clock_gettime, id, to);
  int64_t now = micros();
  to->tv_sec = now / 1000000;
  to->tv_nsec = now % 1000000 * 1000;
  return 0;
}
`;

/** Why the tests cannot run; false if they can. */
export const withoutClock: string | false = withoutRedis || (obstacleTo('compiler') ?? false);

export class RedisClock {
  readonly server: RedisProcess;
  readonly #file: number;

  private constructor(server: RedisProcess, file: number) {
    this.server = server;
    this.#file = file;
  }

  /** @param ms - by which the clock of the server is ahead */
  static async start(ms = 0): Promise<RedisClock> {
    const server = await RedisProcess.start();
    await server.stop();
    const at = (name: string) => path.join(server.directory, name);
    fs.writeFileSync(at('clock.c'), source);
    const line = ['-shared', '-fPIC', '-O1', '-o', at('clock.so'), at('clock.c')];
    const said = tryRun('cc', line);
    if (said !== null) throw new Error(`not compiled: ${said}`);
    const clock = new RedisClock(server, fs.openSync(at('clock'), 'w+'));
    clock.moveTo(ms);
    server.environment = { LD_PRELOAD: at('clock.so'), CLOCK_FILE: at('clock') };
    await server.start();
    return clock;
  }

  moveTo(ms: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(ms));
    fs.writeSync(this.#file, bytes, 0, 8, 0);
  }
}
