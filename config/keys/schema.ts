// The schema of a config file. The checks, the defaults, the JSON Schema and docs/CONFIG.md are
// derived from it. A description gives the meaning of a key, a formula if there is one, and the
// cost of a higher value. Unknown keys are errors, because they are probably misspelled.

import { z } from 'zod';
import { cluster } from './cluster-keys.ts';
import { dedup } from './dedup-keys.ts';
import { http } from './http-keys.ts';
import { duration, hostPattern, regexSource, seedUrl, size } from './leaves.ts';
import { monitor } from './monitor-keys.ts';
import { links, urls } from './url-keys.ts';

/** More hosts should be covered by patterns. */
const patternsMax = 100_000;
/** More hosts should be covered by patterns: agents compare the whole list. */
const ownDelaysMax = 1000;
/** More sitemaps should be listed in a sitemap index. */
const sitemapsMax = 1000;
/** Every link is tested with each expression. */
const regexesMax = 1000;
/** Each thread may hold one body in memory. */
const bodyBytesMax = 1024 ** 3;
/** Some readers of WARC files do not support offsets above 2 GiB. */
const archiveBytesMax = 2 * 1024 ** 3;
/** Higher levels use windows above 8 MiB, which readers of .warc.zst need not support. */
const zstdLevelMax = 19;
/** More than any crawl reaches; SQLite and JSON represent it exactly. */
const countMax = 1_000_000_000_000;

const scope = z
  .strictObject({
    hosts: z
      .array(hostPattern)
      .min(1)
      .max(patternsMax)
      .optional()
      .meta({
        description:
          'Hosts that may be visited: a host, `*.h` for the subdomains of h (not h), or `*` for ' +
          'all. Default: the hosts of the seeds, or else of the sitemaps.',
        example: ['example.org', '*.example.org'],
      }),
    include: z
      .array(regexSource)
      .max(regexesMax)
      .prefault([])
      .meta({
        description:
          'Regular expressions without look-around, back-references, `\\u`, `\\p` and `[^]`. If ' +
          'there are any, the canonical URL must match one, and so must the requested URL if ' +
          '`urls` drops parameters. Entries of `seeds` and sitemaps need not match.',
        example: ['/docs/'],
      }),
    exclude: z
      .array(regexSource)
      .max(regexesMax)
      .prefault([])
      .meta({
        description:
          'Regular expressions as in `include`. A URL that matches in either form is not ' +
          'crawled.',
        example: ['[?&]session='],
      }),
  })
  .prefault({})
  .meta({ description: 'Which URLs belong to the crawl.' });

const limits = z
  .strictObject({
    pagesPerHost: z.int().min(1).max(countMax).prefault(10_000).meta({
      description: 'Pages per host; further URLs are skipped. Higher: endless hosts take longer.',
    }),
    depthPerHost: z
      .int()
      .min(0)
      .max(1_000_000)
      .prefault(16)
      .meta({
        description:
          'Links followed within a host, and redirects after the 20th in a row. Higher: traps such ' +
          'as calendars are followed further.',
      }),
    pages: z
      .int()
      .min(1)
      .max(countMax)
      .nullable()
      .prefault(null)
      .meta({
        description:
          'Pages of the whole crawl, including failures; then the queue is skipped. null: no ' +
          'limit.',
        example: 100_000,
      }),
    urlLength: z.int().min(16).max(65_536).prefault(2048).meta({
      description: 'Characters of a requested URL; longer URLs are skipped. Higher: longer traps.',
    }),
    repeatedSegments: z
      .int()
      .min(1)
      .max(1000)
      .prefault(5)
      .meta({
        description:
          'How often a segment may occur in a path; other URLs are skipped. Higher: longer ' +
          'traps.',
      }),
    stalePages: z
      .int()
      .min(50)
      .max(countMax)
      .nullable()
      .prefault(1000)
      .meta({
        description:
          'Score at which the queue of a host is skipped. A page that nearly repeats a recent ' +
          'one adds one, a new page subtracts two. From 50 on the host is slowed. null: no ' +
          'limit. Higher: traps cost more requests.',
        example: 200,
      }),
    bodyBytes: size(bodyBytesMax).prefault('10MiB').meta({
      description: 'Bytes of a decoded body; the rest is discarded. Higher: more memory.',
      example: '2MiB',
    }),
  })
  .prefault({})
  .meta({ description: 'Limits of the crawl.' });

const politeness = z
  .strictObject({
    hostDelayMs: duration(0).prefault(1000).meta({
      description: 'Time from the end of a request to a host to the start of the next.',
      example: '2s',
    }),
    ipDelayMs: duration(0)
      .prefault(0)
      .meta({
        description:
          'The same for each IP address, across hosts and agents; 0: off. Costs two or three ' +
          'messages per request, and heartbeatMs may be at most suspectAfterMs / 5. Not applied behind a proxy.',
        example: '500ms',
      }),
    crawlDelayMaxMs: duration(0).prefault(30_000).meta({
      description: 'Longest Crawl-delay that is obeyed.',
      example: '1m',
    }),
    responseTimeFactor: z.number().min(0).max(1000).prefault(0).meta({
      description:
        'The delay is at least this many times the last response time, up to a minute; 0: off.',
      example: 5,
    }),
    hosts: z
      .record(hostPattern, z.strictObject({ hostDelayMs: duration(0) }))
      .refine((hosts) => Object.keys(hosts).length <= ownDelaysMax, {
        error: `has more than ${ownDelaysMax} hosts; use patterns`,
      })
      .prefault({})
      .meta({
        description:
          'Replaces hostDelayMs for hosts or patterns as in scope.hosts; the most specific ' +
          'applies. A longer Crawl-delay is still obeyed.',
        example: { 'example.org': { hostDelayMs: '5s' }, '*.example.net': { hostDelayMs: 200 } },
      }),
    robots: z.boolean().prefault(true).meta({
      description: 'Whether robots.txt is obeyed. Disable only for your own servers.',
    }),
  })
  .prefault({})
  .meta({ description: 'Limits of the load on web servers.' });

const agent = z
  .strictObject({
    threads: z
      .int()
      .min(1)
      .max(4096)
      .prefault(64)
      .meta({
        description:
          'Simultaneous requests; those open for over 500 ms do not count. Higher: more memory ' +
          'and sockets.',
      }),
    parseWorkers: z.int().min(1).max(64).prefault(1).meta({
      description: 'Threads that parse pages, some 30 MB each. More than free cores do not help.',
    }),
    dataDir: z.string().min(1).max(4096).prefault('./data').meta({
      description: 'Data directory, with one folder per agent.',
      example: './data',
    }),
  })
  .prefault({})
  .meta({ description: 'Resources of each agent.' });

const storage = z
  .strictObject({
    durability: z
      .enum(['power', 'process'])
      .prefault('power')
      .meta({
        description:
          'power: acknowledged data survives power loss, which costs one fsync per batch. ' +
          'process: it survives SIGKILL, not power loss.',
      }),
  })
  .prefault({})
  .meta({ description: 'How state is stored.' });

const archive = z
  .strictObject({
    warc: z.boolean().prefault(true).meta({
      description: 'Whether requests and responses are stored as WARC files.',
    }),
    fileBytes: size(archiveBytesMax).prefault('1GiB').meta({
      description: 'Size at which a new file begins.',
      example: '256MiB',
    }),
    compression: z
      .enum(['gzip', 'zstd'])
      .prefault('gzip')
      .meta({
        description:
          'gzip: .warc.gz, which every WARC reader supports. zstd: .warc.zst, 9 to 18 % smaller ' +
          'with a third less CPU time; experimental in Node 24.',
      }),
    gzipLevel: z.int().min(1).max(9).prefault(1).meta({
      description: 'Level 1 needs an eighth more disk than 6, and half to a third of the CPU time.',
      example: 6,
    }),
    zstdLevel: z.int().min(1).max(zstdLevelMax).prefault(3).meta({
      description: 'Level 9 needs a tenth less disk than 3, and three to four times the CPU time.',
      example: 9,
    }),
    links: z.boolean().prefault(false).meta({
      description: 'Whether links in scope are stored for the view `links`.',
    }),
  })
  .prefault({})
  .meta({ description: 'What is stored besides page records.' });

/** The output has all defaults, durations in ms and sizes in bytes. */
export const configSchema = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(200)
      .regex(/^[^\p{Cc}\p{Cs}]*$/u, { error: 'contains control characters; write a plain name' })
      .prefault('crawl')
      .meta({
        description: 'Identity of the crawl.',
        example: 'my-crawl',
      }),
    seeds: z
      .array(seedUrl)
      .prefault([])
      .meta({
        description:
          'URLs where the crawl starts. Required unless `seedFiles` or `sitemaps` has entries.',
        example: ['https://example.org/'],
      }),
    seedFiles: z
      .array(z.string().min(1).max(4096))
      .max(1000)
      .prefault([])
      .meta({
        description: 'Files with one seed per line; lines starting with # are ignored.',
        example: ['seeds.txt'],
      }),
    sitemaps: z
      .array(seedUrl)
      .max(sitemapsMax)
      .prefault([])
      .meta({
        description:
          'Sitemaps, sitemap indexes, feeds or text files with URLs. Sitemaps in robots.txt are ' +
          'always read, unless `scope.hosts` or `scope.exclude` excludes them.',
        example: ['https://example.org/sitemap.xml'],
      }),
    scope,
    urls,
    links,
    limits,
    politeness,
    http,
    cluster,
    dedup,
    agent,
    storage,
    archive,
    monitor,
  })
  .meta({ title: 'ubiring config', description: 'A crawl, its cluster and its limits.' });

/** Has all defaults, and paths and seeds as written. */
export type ParsedConfig = z.output<typeof configSchema>;
