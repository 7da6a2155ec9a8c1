// Opens the pools of a network: the client library, the password, and the connection to its Redis.

import assert from 'node:assert/strict';
import { parseRedisUrl, passwordVariable } from '../../../config/values/redis-url.ts';
import { loadClientLibrary } from './client-library.ts';
import { PoolKeys } from './pool-keys.ts';
import * as scripts from './pool-scripts.ts';
import { RedisLink } from './redis-link.ts';
import { redisPassword } from './redis-password.ts';
import { RedisPools, unusedMsMax } from './redis-pools.ts';

export interface PoolsOptions {
  /** `name` of the config, the same in all networks. */
  readonly crawl: string;
  readonly network: string;
  /** Of the network's Redis, without a password. */
  readonly url: string;
  readonly timeoutMs: number;
  /** What all networks must agree on, as JSON; '' if nothing is compared. */
  readonly settings?: string;
  /** Where this agent runs, for those who ask where the centre runs. */
  readonly home?: string;
  /** Where the password is. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** How often the settings of the server are looked at again. */
  readonly recheckMs?: number;
}

/** A person who changes a setting sees the warning soon, at the cost of a command a minute. */
const recheckMsUsual = 60_000;

/**
 * Opens the pools of a network. `ready` is the first attempt to connect; if it fails, others follow.
 *
 * @throws an Error if the client library or the password is missing
 */
export async function openPools(
  options: PoolsOptions,
): Promise<{ readonly pools: RedisPools; readonly ready: Promise<void> }> {
  const { crawl, network, timeoutMs, environment, settings = '', home = '' } = options;
  const url = parseRedisUrl(options.url);
  assert(url !== null && !url.hasPassword, `network ${network}: not a Redis URL`);
  const { host, port, tls, user, database, sentinels } = url;
  const password = redisPassword(network, environment);
  const library = await loadClientLibrary();
  const place = { network, host, port };
  const variable = passwordVariable(network);
  const enter = (run: string) => enterArguments(new PoolKeys(crawl, network, run), run);
  const link = new RedisLink(
    {
      place,
      sentinels,
      tls,
      user,
      password,
      passwordVariable: variable,
      database,
      timeoutMs,
      recheckMs: options.recheckMs ?? recheckMsUsual,
      enter,
    },
    library,
  );
  const ready = link.connect();
  // The caller may decide not to wait.
  ready.catch(() => {});
  return { pools: new RedisPools(link, crawl, network, settings, home), ready };
}

function enterArguments(keys: PoolKeys, run: string): readonly string[] {
  const names = [keys.server, ...keys.ofRun()];
  return ['EVAL', scripts.enter.source, `${names.length}`, ...names, run, `${unusedMsMax}`];
}
