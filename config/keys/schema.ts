// The config file, key by key: the one place from which the checks, the JSON Schema, the reference
// page and the defaults come. A key's `doc` gives its meaning, a formula where there is one, and what
// turning it up costs; the default stands beside it. Rules between keys are in `rules.ts`. Objects
// are strict: a key that is not here is a typing mistake, and a crawl must not start with one.

import { z } from 'zod';
import { http } from './http-keys.ts';
import {
  agentId,
  duration,
  hostPattern,
  listenEndpoint,
  peerEndpoint,
  regexSource,
  seedUrl,
  size,
} from './leaves.ts';
import { links, urls } from './url-keys.ts';

/** Heartbeats go from each agent to each: a thousand agents already send a million a period. */
export const agentsMax = 1000;
/** More hosts than a config file holds belong behind a pattern. */
const patternsMax = 100_000;
/** They are compared between agents, all of them; more belong behind a pattern. */
const ownDelaysMax = 1000;
/** More of them belong into a sitemap index. */
const sitemapsMax = 1000;
/** Every link is tested against each of them. */
const regexesMax = 1000;
/** A body is held in memory while it is parsed, once for each visit thread. */
const bodyBytesMax = 1024 ** 3;
/** Offsets beyond 2 GiB are beyond some readers. */
const archiveBytesMax = 2 * 1024 ** 3;
/** Beyond it windows are larger than the 8 MiB that a reader of .warc.zst must have room for. */
const zstdLevelMax = 19;
/** A counter that SQLite and JSON both hold exactly, and that no crawl reaches. */
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
          'Hosts that may be visited: a host, "*.h" for the subdomains of h (not h), or "*" for ' +
          "everything. By default the seeds' hosts, or without seeds those of the sitemaps. More " +
          'hosts cost disk and time, nothing else.',
        example: ['example.org', '*.example.org'],
      }),
    include: z
      .array(regexSource)
      .max(regexesMax)
      .prefault([])
      .meta({
        description:
          'Regular expressions on the canonical URL; where there are any, a URL must match one. ' +
          'Where parameters are dropped (`urls`), what is requested must match one too, in canonical ' +
          'spelling. Written as in JavaScript, without look-around and back-references: no URL takes ' +
          'more than linear time. Each is tried on every link found.',
        example: ['/docs/'],
      }),
    exclude: z
      .array(regexSource)
      .max(regexesMax)
      .prefault([])
      .meta({
        description:
          'Regular expressions on the canonical URL; a URL that matches one is left out, whatever ' +
          '`include` says. What is requested is tried as well, as it is written and in canonical ' +
          'spelling. Written as those of `include`. Each is tried on every link found, and again ' +
          'before each request.',
        example: ['[?&]session='],
      }),
  })
  .prefault({})
  .meta({ description: 'Which URLs belong to the crawl.' });

const limits = z
  .strictObject({
    pagesPerHost: z
      .int()
      .min(1)
      .max(countMax)
      .prefault(10_000)
      .meta({
        description:
          'Pages of one host; URLs beyond it are skipped. Turned up, one endless host takes ' +
          'pagesPerHost × hostDelayMs or longer.',
      }),
    depthPerHost: z
      .int()
      .min(0)
      .max(1_000_000)
      .prefault(16)
      .meta({
        description:
          'Links followed within one host, counted from where the host was entered (depth 0). ' +
          'Turned up, calendars and other traps are followed further.',
      }),
    pages: z
      .int()
      .min(1)
      .max(countMax)
      .nullable()
      .prefault(null)
      .meta({
        description:
          'Pages of the whole crawl that end with a response or a failure, over all agents; then ' +
          'what is queued is skipped, and the crawl is complete. null is no limit. Any limit costs ' +
          'some messages for each agent, and the first page waits until all have counted.',
        example: 100_000,
      }),
    urlLength: z
      .int()
      .min(16)
      .max(65_536)
      .prefault(2048)
      .meta({
        description:
          'Characters of a URL as it is requested; longer ones are skipped. Turned up, rows grow and URL ' +
          'traps live longer.',
      }),
    repeatedSegments: z
      .int()
      .min(1)
      .max(1000)
      .prefault(5)
      .meta({
        description:
          'How often one segment may stand in the path of a URL; others are skipped as traps. ' +
          'Turned up, paths that grow by each link are followed further.',
      }),
    stalePages: z
      .int()
      .min(50)
      .max(countMax)
      .nullable()
      .prefault(1000)
      .meta({
        description:
          'Pages of a host that are (nearly) copies of pages it gave before, each new one taking ' +
          'two off: from 50 on the host is slowed, beyond this many the rest of its queue is ' +
          'skipped as a trap; null is no limit. Turned up, traps of one page cost more requests.',
        example: 200,
      }),
    bodyBytes: size(bodyBytesMax)
      .prefault('10MiB')
      .meta({
        description:
          'Bytes of a body after decoding; the rest is cut off. Bodies beyond their first 256 KiB ' +
          'share 128 MiB of an agent as they come. Where quick ones have to wait, slow ones, below ' +
          '512 KiB a second, are broken off as `total_timeout` and tried again.',
        example: '2MiB',
      }),
  })
  .prefault({})
  .meta({ description: 'Where the crawl ends.' });

const politeness = z
  .strictObject({
    hostDelayMs: duration(0)
      .prefault(1000)
      .meta({
        description:
          'From the end of any request to a host to the start of the next. A host is crawled at ' +
          'no more than 1000 / hostDelayMs pages a second; turned up, large hosts take longer.',
        example: '2s',
      }),
    ipDelayMs: duration(0)
      .prefault(0)
      .meta({
        description:
          'The same for each address: hosts that share one share this delay, whichever agents own ' +
          'them; 0 is off. Hosts at one address are crawled at no more than 1000 / ipDelayMs ' +
          'pages a second together. Above 0, each request costs two or three messages, and goes ' +
          'to one address of its host only. Behind a proxy addresses are not known, and free.',
        example: '500ms',
      }),
    crawlDelayMaxMs: duration(0)
      .prefault(30_000)
      .meta({
        description:
          'Longest Crawl-delay of a robots.txt that is followed; a longer one counts as this. ' +
          'Turned up, a host can slow its own crawl further.',
        example: '1m',
      }),
    responseTimeFactor: z
      .number()
      .min(0)
      .max(1000)
      .prefault(0)
      .meta({
        description:
          'The delay is at least this many times what the last response took, up to a minute; 0 ' +
          'is off. Turned up, slow servers are spared, and take longer.',
        example: 5,
      }),
    hosts: z
      .record(hostPattern, z.strictObject({ hostDelayMs: duration(0) }))
      .refine((hosts) => Object.keys(hosts).length <= ownDelaysMax, {
        error: `holds more than ${ownDelaysMax} hosts; use patterns`,
      })
      .prefault({})
      .meta({
        description:
          'Delays of single hosts in place of hostDelayMs, by patterns as in scope.hosts; the most ' +
          'specific one counts. A Crawl-delay may still be longer.',
        example: { 'example.org': { hostDelayMs: '5s' }, '*.example.net': { hostDelayMs: 200 } },
      }),
    robots: z.boolean().prefault(true).meta({
      description: 'Whether robots.txt is obeyed. Turn it off for servers of your own only.',
    }),
  })
  .prefault({})
  .meta({ description: 'How gently servers are treated.' });

const agentEntry = z.strictObject({
  id: agentId.meta({
    description: "The agent's name, place on the ring and directory; a change moves its hosts.",
    example: 'a1',
  }),
  listen: listenEndpoint.meta({
    description: 'Endpoint to bind: tcp://HOST:PORT.',
    example: 'tcp://127.0.0.1:7101',
  }),
  address: peerEndpoint.optional().meta({
    description:
      'Endpoint that peers connect to; `listen` by default, needed if that is a wildcard.',
    example: 'tcp://10.0.0.5:7101',
  }),
  capacity: z
    .number()
    .gt(0)
    .max(1000)
    .prefault(1)
    .meta({
      description:
        'Share of the hosts relative to the others. Turned up, this agent gets proportionally more ' +
        'hosts, and max(1, round(capacity × replicas)) points on the ring.',
    }),
});

const cluster = z
  .strictObject({
    agents: z
      .union([z.int().min(1).max(agentsMax), z.array(agentEntry).min(1).max(agentsMax)], {
        error: 'must be a number of agents or a list of them',
      })
      .prefault(1)
      .meta({
        description:
          'The agents, or a number N: a1 to aN on 127.0.0.1, on free ports kept in ' +
          'DATA/cluster.json. Heartbeats grow with the square of the number.',
        example: 4,
      }),
    replicas: z
      .int()
      .min(1)
      .max(10_000)
      .prefault(200)
      .meta({
        description:
          'Points on the ring for an agent of capacity 1. The shares differ by about 1 / ' +
          'sqrt(replicas); turned up, they are more even, and the ring takes longer to build.',
      }),
    backups: z
      .int()
      .min(0)
      .max(16)
      .prefault(1)
      .meta({
        description:
          "Other agents that keep a copy of each host's state, the next in its order: so many may " +
          'die at once, for good, without a URL lost. Each costs about two small rows a page, in ' +
          'messages and on disk. 0: a crash for good loses the queues of the agent.',
      }),
    quorum: z
      .enum(['none', 'majority'])
      .prefault('none')
      .meta({
        description:
          'none: each side of a partition crawls on. majority: only the side with more than half ' +
          'of the configured agents does, and a crash of half of them stops the crawl.',
      }),
    failureDetector: z
      .strictObject({
        heartbeatMs: duration(10)
          .prefault(1000)
          .meta({
            description:
              'Between two heartbeats to each agent; at most suspectAfterMs / 3. Turned up, fewer ' +
              'messages, and a later takeover.',
            example: '1s',
          }),
        suspectAfterMs: duration(30)
          .prefault(10_000)
          .meta({
            description:
              'Silence after which an agent is taken for dead and its hosts are taken over. The ' +
              'lease of the fetch right is 0.6 × suspectAfterMs. Turned up, fewer mistakes, and ' +
              "a dead agent's hosts wait longer.",
            example: '10s',
          }),
      })
      .prefault({})
      .meta({ description: 'When an agent is taken for dead.' }),
  })
  .prefault({})
  .meta({ description: 'The agents, and how they share the work.' });

const agent = z
  .strictObject({
    threads: z
      .int()
      .min(1)
      .max(4096)
      .prefault(64)
      .meta({
        description:
          'Requests that one agent makes at the same time; one that is open for longer than 500 ms ' +
          '(less below 16 threads) no longer counts, up to nine times as many in all. Turned up: ' +
          'more memory (256 KiB of each body at worst, and 128 MiB for all), sockets and open files.',
      }),
    parseWorkers: z
      .int()
      .min(1)
      .max(64)
      .prefault(1)
      .meta({
        description:
          'Worker threads that parse pages; half as many more, one at least, are started where there ' +
          'are bodies above 512 KiB or packed sitemaps, and as many again where one of those takes ' +
          'long. More than the cores left over by the main thread only cost memory, some 30 MB each.',
      }),
    dataDir: z.string().min(1).max(4096).prefault('./data').meta({
      description:
        'Directory of the state, one folder an agent; relative to the config file. --data wins.',
      example: './data',
    }),
  })
  .prefault({})
  .meta({ description: 'What each agent uses of its machine.' });

const storage = z
  .strictObject({
    durability: z
      .enum(['power', 'process'])
      .prefault('power')
      .meta({
        description:
          'power: what was acknowledged survives power loss, for one fsync a batch. process: it ' +
          'survives SIGKILL, and is faster on slow disks.',
      }),
  })
  .prefault({})
  .meta({ description: 'How state is kept.' });

const archive = z
  .strictObject({
    warc: z
      .boolean()
      .prefault(true)
      .meta({
        description:
          'Whether requests and responses are kept as WARC files in DATA/ID/warc, at about a third ' +
          'of the size of uncompressed pages. Servers are then asked for gzip and deflate only.',
      }),
    fileBytes: size(archiveBytesMax)
      .prefault('1GiB')
      .meta({
        description:
          'Size at which a WARC file is ended and another begun. Turned down: more files to ' +
          'handle, each with a wait of some milliseconds.',
        example: '256MiB',
      }),
    compression: z
      .enum(['gzip', 'zstd'])
      .prefault('gzip')
      .meta({
        description:
          'gzip: .warc.gz, which every reader of WARC knows. zstd: .warc.zst, 9 to 18 % less disk ' +
          'and a third less processor time for compressing, which fewer readers know; Node 24 calls ' +
          'its zstd experimental. May change between two runs: it holds for files begun from then on.',
      }),
    gzipLevel: z
      .int()
      .min(1)
      .max(9)
      .prefault(1)
      .meta({
        description:
          'How hard gzip compresses WARC records. At 1 they take an eighth more disk than at 6, and ' +
          'half to a third of its processor time, which is as much as all else that an archive costs.',
        example: 6,
      }),
    zstdLevel: z
      .int()
      .min(1)
      .max(zstdLevelMax)
      .prefault(3)
      .meta({
        description:
          'How hard zstd compresses WARC records. At 9 they take a tenth less disk than at 3, and ' +
          'three to four times its processor time; beyond, each step costs far more than it saves.',
        example: 9,
      }),
    links: z
      .boolean()
      .prefault(false)
      .meta({
        description:
          'Whether the links of each page, as far as they are in scope, are kept in the view ' +
          '`links`, on the agent that fetched it; one row a page, as long as their URLs together.',
      }),
  })
  .prefault({})
  .meta({ description: 'What is kept besides the records of pages.' });

/** The whole file. Its output has every default in place, durations in ms and sizes in bytes. */
export const configSchema = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(200)
      .regex(/^[^\p{Cc}]*$/u, { error: 'holds control characters; write a plain name' })
      .prefault('crawl')
      .meta({
        description:
          'Identity of the crawl: agents and data directories of another name are refused. Do not change it while the crawl has data.',
        example: 'my-crawl',
      }),
    seeds: z
      .array(seedUrl)
      .prefault([])
      .meta({
        description:
          'URLs that the crawl starts from, at depth 0. Needed, unless seedFiles or sitemaps has some.',
        example: ['https://example.org/'],
      }),
    seedFiles: z
      .array(z.string().min(1).max(4096))
      .max(1000)
      .prefault([])
      .meta({
        description:
          'Files with a seed a line, relative to the config file; blank lines and lines that ' +
          'start with # are left out.',
        example: ['seeds.txt'],
      }),
    sitemaps: z
      .array(seedUrl)
      .max(sitemapsMax)
      .prefault([])
      .meta({
        description:
          'Sitemaps, sitemap indexes, feeds or text files of URLs that the crawl reads as well, ' +
          'within scope; those that robots.txt files name are read in any case.',
        example: ['https://example.org/sitemap.xml'],
      }),
    scope,
    urls,
    links,
    limits,
    politeness,
    http,
    cluster,
    agent,
    storage,
    archive,
  })
  .meta({ title: 'ubiring config', description: 'A crawl, its cluster and its limits.' });

/** What the schema gives: defaults in place, paths and seeds as written. */
export type ParsedConfig = z.output<typeof configSchema>;
