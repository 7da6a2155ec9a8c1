// A redis-server of the machine for one measurement, and the resources that it has used by its own
// account (INFO).

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { killAtExit, temporaryDirectory } from './leftovers.ts';
import { freePort } from './ports.ts';

export interface RedisUse {
  readonly cpuMs: number;
  /** Received and sent. */
  readonly bytes: number;
  readonly memoryBytes: number;
}

const startMsMax = 10_000;

export class RedisServer {
  readonly url: string;
  readonly #process: ChildProcess;
  readonly #remove: () => void;

  private constructor(url: string, process: ChildProcess, remove: () => void) {
    this.url = url;
    this.#process = process;
    this.#remove = remove;
  }

  /** @throws if it does not start, as when it is not installed */
  static async start(): Promise<RedisServer> {
    const { directory, remove } = temporaryDirectory();
    const port = await freePort();
    const line = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', ''];
    const child = spawn('redis-server', line, { stdio: 'ignore' });
    killAtExit(child);
    const failed = once(child, 'error').then(([error]) => Promise.reject(error));
    failed.catch(() => {});
    const server = new RedisServer(`redis://127.0.0.1:${port}/0`, child, remove);
    const end = performance.now() + startMsMax;
    for (;;) {
      try {
        await Promise.race([server.use(), failed]);
        return server;
      } catch (error) {
        if (child.exitCode !== null || performance.now() > end) throw error;
        await pause(20);
      }
    }
  }

  async use(): Promise<RedisUse> {
    const client = createClient({ url: this.url, socket: { reconnectStrategy: false } });
    client.on('error', () => {});
    await client.connect();
    const info = String(await client.sendCommand(['INFO']));
    await client.close();
    const of = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1]);
    return {
      cpuMs: 1000 * (of('used_cpu_sys') + of('used_cpu_user')),
      bytes: of('total_net_input_bytes') + of('total_net_output_bytes'),
      memoryBytes: of('used_memory'),
    };
  }

  static difference(after: RedisUse, before: RedisUse): RedisUse {
    return {
      cpuMs: after.cpuMs - before.cpuMs,
      bytes: after.bytes - before.bytes,
      memoryBytes: after.memoryBytes - before.memoryBytes,
    };
  }

  async stop(): Promise<void> {
    const end = once(this.#process, 'close');
    this.#process.kill('SIGKILL');
    await end;
    this.#remove();
  }
}
