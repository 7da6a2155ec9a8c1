// Checks a server when a connection to it is open, with one INFO: that it is a Redis or Valkey that
// has the commands of the scripts, that it forgets nothing and that it accepts writes. The check is
// repeated at each connection, because another server may answer at the address after a failover.

import { NetworkFailure, type RedisPlace } from './network-failure.ts';

/** LPOS, XTRIM with MINID and SMISMEMBER need Redis 6.2. */
const oldest = [6, 2] as const;

export interface CheckedServer {
  /** The run id of the server process. */
  readonly run: string;
  readonly isCluster: boolean;
}

/**
 * @param isNamed - a Sentinel has named the server
 * @throws a NetworkFailure with the remedy
 */
export function checkServer(place: RedisPlace, info: unknown, isNamed = false): CheckedServer {
  const refuse = (cause: string) => new NetworkFailure(place, 'refused', cause);
  const fields = typeof info === 'string' ? fieldsOf(info) : new Map<string, string>();
  const version = fields.get('redis_version');
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version ?? '') ?? [];
  if (version === undefined || major === undefined) {
    throw refuse('it is not a Redis server; check host and port');
  }
  if (fields.get('redis_mode') === 'sentinel') {
    const form = 'redis-sentinel://HOST:PORT/DATABASE#MASTER';
    throw refuse(`it is a Sentinel; write ${form} with the name of the master`);
  }
  const isOld =
    Number(major) < oldest[0] || (Number(major) === oldest[0] && Number(minor) < oldest[1]);
  if (isOld) throw refuse(`it is Redis ${version}; upgrade it to ${oldest.join('.')} or later`);
  const isCluster = fields.get('cluster_enabled') === '1';
  // A replica of a cluster names the node to use.
  if (fields.get('role') === 'slave' && !isCluster) {
    if (isNamed)
      throw new NetworkFailure(
        place,
        'unreachable',
        'it is a replica, although a Sentinel named it as the master',
      );
    throw refuse('it is a read-only replica; use the address of its master');
  }
  const evicting = evictionIn(place, info);
  if (evicting !== null) throw evicting;
  return { run: fields.get('run_id') ?? '', isCluster };
}

/** That the server deletes keys when memory is full, with the remedy; null: it does not. */
export function evictionIn(place: RedisPlace, info: unknown): NetworkFailure | null {
  const policy = typeof info === 'string' ? fieldsOf(info).get('maxmemory_policy') : undefined;
  if (policy === undefined || policy === 'noeviction') return null;
  const remedy = 'set maxmemory-policy to noeviction there';
  const cause = `its maxmemory-policy ${policy} deletes keys when memory is full; ${remedy}`;
  return new NetworkFailure(place, 'refused', cause);
}

function fieldsOf(info: string): Map<string, string> {
  const lines = info.split('\r\n').filter((line) => line.includes(':'));
  return new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
  );
}
