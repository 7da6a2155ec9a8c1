// Starts a redis-server of the machine for a test: on a free port of 127.0.0.1, in a temporary
// directory, without a config file. Without the program the tests are skipped and say so.

import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { freePort } from '../../../bench/ports.ts';
import { startRedis } from './redis-start.ts';

/** Another server, such as valkey-server, takes the place of Redis if REDIS_SERVER names it. */
const named = process.env.REDIS_SERVER ?? '';
const program = named === '' ? 'redis-server' : named;

/** Why the tests cannot run; false if they can: as the option `skip` of a test. */
export const withoutRedis: string | false = (() => {
  if (named !== '') return false;
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'redis-server is not installed (Debian: apt install redis-server): nothing was tested';
  }
})();

/** Another program may take a port between its release and the start. */
const triesMax = 5;

export class RedisProcess {
  readonly port: number;
  readonly directory: string;
  /** Added to that of the test, from the next start. */
  environment: Readonly<Record<string, string>> = {};
  #process: ChildProcess | null = null;
  #options: readonly string[] = [];

  private constructor(port: number) {
    this.port = port;
    this.directory = fs.mkdtempSync(path.join(os.tmpdir(), 'ubiring-redis-'));
    after(async () => {
      await this.stop('SIGKILL');
      fs.rmSync(this.directory, { recursive: true, force: true });
    });
  }

  /** @param options - of redis-server, such as `--appendonly yes` */
  static async start(...options: string[]): Promise<RedisProcess> {
    for (let tries = 1; ; tries++) {
      const server = new RedisProcess(await freePort());
      try {
        await server.start(...options);
        return server;
      } catch (error) {
        if (tries === triesMax) throw error;
      }
    }
  }

  url(database = 0): string {
    return `redis://127.0.0.1:${this.port}/${database}`;
  }

  get isRunning(): boolean {
    return this.#process !== null;
  }

  /** Starts it, or starts it again. Without options, those of the last start. */
  async start(...options: string[]): Promise<void> {
    if (options.length > 0) this.#options = options;
    const { port, directory, environment } = this;
    this.#process = await startRedis(program, { port, directory, environment }, this.#options);
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const end = once(child, 'exit');
    child.kill(signal);
    await end;
  }

  /** Stops and continues the process, which accepts connections but answers nothing. */
  pause(): void {
    this.#process!.kill('SIGSTOP');
  }

  resume(): void {
    this.#process!.kill('SIGCONT');
  }
}
