// The config section `dedup`: separately run clusters, called networks, that divide one crawl among
// themselves with the help of Redis.

import { z } from 'zod';
import { parseRedisUrl } from '../values/redis-url.ts';
import { duration } from './leaves.ts';

/** A question goes to every other network. */
const networksMax = 32;
/** A frame of this many digests has about 250 KB. */
const batchMax = 10_000;

/** Characters. Agents compare the URLs of all networks. */
const urlLengthMax = 400;

/** The name is part of the name of an environment variable, in which `-` becomes `_`. */
const networkName = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, {
  error: 'is not the name of a network; write 1 to 32 lower-case letters, digits or "-"',
});

/** The message must not repeat the URL, which may contain a password. */
const redisUrl = z.string().superRefine((text, context) => {
  if (text.length <= urlLengthMax && parseRedisUrl(text) !== null) return;
  const remedy =
    'write redis://HOST:PORT/DATABASE, where DATABASE is a number, as in ' +
    'redis://10.0.0.1:6379/0; rediss:// for TLS; or ' +
    'redis-sentinel://HOST:PORT,HOST:PORT/DATABASE#MASTER';
  context.addIssue({ code: 'custom', message: 'is not a Redis URL', params: { remedy } });
});

export const dedup = z
  .strictObject({
    mode: z
      .enum(['none', 'redis'])
      .prefault('none')
      .meta({
        description:
          'redis: other clusters, called networks, do not crawl the URLs of this one ' +
          '(docs/NETWORKS.md).',
      }),
    network: networkName.nullable().prefault(null).meta({
      description: 'Name of this network; required with redis.',
      example: 'berlin',
    }),
    networks: z
      .record(networkName, redisUrl)
      .refine((networks) => Object.keys(networks).length <= networksMax, {
        error: `has more than ${networksMax} networks; merge some of them into one cluster`,
      })
      .prefault({})
      .meta({
        description:
          'The Redis URL of every network of the crawl, also of this one, by name: 1 to 32 ' +
          'lower-case letters, digits or "-". docs/NETWORKS.md describes passwords and ' +
          'Sentinels.',
        example: { berlin: 'redis://10.0.0.1:6379/0', paris: 'rediss://crawler@10.0.1.1:6380/0' },
      }),
    onTimeout: z
      .enum(['proceed', 'wait'])
      .prefault('proceed')
      .meta({
        description:
          'proceed: URLs of a network that does not answer in time count as unknown, so some may ' +
          'be crawled twice. wait: they wait.',
      }),
    timeoutMs: duration(50).prefault(2000).meta({
      description: 'Time for answers of Redis and other networks, at most leaseMs / 3.',
      example: '2s',
    }),
    batch: z.int().min(1).max(batchMax).prefault(500).meta({
      description: 'URLs in a question. Higher: fewer round trips, later verdicts.',
    }),
    leaseMs: duration(1000)
      .prefault(60_000)
      .meta({
        description:
          'How long a host, or the role of asking others, stays with a failed agent. Higher: ' +
          'fewer messages, later takeover.',
        example: '1m',
      }),
  })
  .prefault({})
  .meta({
    description: 'Several clusters, called networks, that share one crawl.',
  });
