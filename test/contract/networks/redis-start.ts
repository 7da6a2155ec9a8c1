// Starts a redis-server, or a server that takes its place, and waits until it accepts connections.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

interface RedisPlace {
  readonly port: number;
  readonly directory: string;
  /** Added to the environment of this process. */
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * @param program - redis-server or valkey-server
 * @throws an Error with the code ENOENT if it is not installed, or with what it says if it ends
 */
export async function startRedis(
  program: string,
  { port, directory, environment = {} }: RedisPlace,
  options: readonly string[] = [],
): Promise<ChildProcess> {
  const own = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', ''];
  const child = spawn(program, [...own, ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  });
  await once(child, 'spawn');
  let said = '';
  for await (const chunk of child.stdout!) {
    said += String(chunk);
    if (said.includes('eady to accept connections')) return child;
  }
  throw new Error(`${program}:\n${said}`);
}
