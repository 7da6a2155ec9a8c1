// Loads the client library, @redis/client. It is an optional dependency that only networks need, so
// it is loaded when the first pools are opened. RedisLink uses the few members that are named here.

import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** A connection to a server. */
export interface RedisConnection {
  connect(): Promise<unknown>;
  sendCommand(args: readonly string[]): Promise<unknown>;
  destroy(): void;
  on(event: 'error', listener: (error: unknown) => void): unknown;
}

export interface ClientLibrary {
  /** @param options - as in the documentation of the library */
  readonly createClient: (options: Readonly<Record<string, unknown>>) => RedisConnection;
  /** What a command fails with if the server answers with an error. */
  readonly ErrorReply: new (
    ...args: never[]
  ) => Error;
}

/**
 * @param from - this file, as it is installed
 * @throws an Error with the command that installs the library
 */
export async function loadClientLibrary(
  load: () => Promise<unknown> = () => import('@redis/client'),
  from = import.meta.filename,
): Promise<ClientLibrary> {
  try {
    return (await load()) as ClientLibrary;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    const message =
      'dedup.mode: redis needs the package @redis/client, which is not installed; ' +
      `run npm install ${placeOf(from)} @redis/client@6`;
    throw new Error(message, { cause: error });
  }
}

/** The options of npm by which the package is installed where this program finds it. */
function placeOf(from: string): string {
  const [root] = from.split(/[\\/]node_modules[\\/]ubiring[\\/]/, 1) as [string];
  // A checkout: this file is in agent/networks/redis/, of the sources or below dist/.
  const checkout = from.split(/[\\/](?:dist[\\/])?agent[\\/]networks[\\/]/, 1)[0]!;
  if (root === from) return at(checkout);
  // The directory of global packages belongs to no project.
  return existsSync(join(root, 'package.json')) ? at(root) : '-g';
}

function at(directory: string): string {
  return ['--prefix', directory.includes(' ') ? `"${directory}"` : directory].join(' ');
}
