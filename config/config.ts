// A config that has been checked: every key has a value, durations are milliseconds, sizes bytes,
// paths absolute. Only `load.ts` makes one, so whoever holds a `Config` need not check it again.
// What follows from it alone (identifiers, lease) is derived here and never written in a file.

/** One agent of the cluster, with the places where it listens and is reached. */
export interface AgentEntry {
  readonly id: string;
  /** ZeroMQ endpoint to bind, such as `tcp://0.0.0.0:7101`. */
  readonly listen: string;
  /** ZeroMQ endpoint that peers connect to; `listen` unless the file says otherwise. */
  readonly address: string;
  readonly capacity: number;
}

/** `none` or `majority`. */
export type Quorum = 'none' | 'majority';
/** What an acknowledged write survives: power loss of all, or SIGKILL of all. */
export type Durability = 'power' | 'process';

export interface Config {
  /** Absolute path of the file it came from. */
  readonly file: string;
  readonly name: string;
  /** Every seed as written: those of the config, then those of each seed file. */
  readonly seeds: readonly string[];
  /** The seeds that stand in the config itself. */
  readonly inlineSeeds: readonly string[];
  /** Absolute paths. */
  readonly seedFiles: readonly string[];
  /** As written. */
  readonly sitemaps: readonly string[];
  readonly scope: {
    /** Serialised patterns; the seeds' hosts where the file names none. */
    readonly hosts: readonly string[];
    /** Sources of regular expressions that compile without flags. */
    readonly include: readonly string[];
    readonly exclude: readonly string[];
  };
  readonly urls: {
    /** Names of parameters; one that ends in `*` is a prefix. */
    readonly dropParameters: readonly string[];
    readonly dropTracking: boolean;
    readonly dropSessions: boolean;
  };
  readonly links: { readonly embeds: boolean };
  readonly limits: {
    readonly pagesPerHost: number;
    readonly depthPerHost: number;
    /** Of the whole crawl; null is no limit. */
    readonly pages: number | null;
    readonly urlLength: number;
    /** How often one segment may stand in a path. */
    readonly repeatedSegments: number;
    /** Null is no limit. */
    readonly stalePages: number | null;
    readonly bodyBytes: number;
  };
  readonly politeness: {
    readonly hostDelayMs: number;
    readonly ipDelayMs: number;
    readonly crawlDelayMaxMs: number;
    readonly responseTimeFactor: number;
    /** By serialised host pattern. */
    readonly hosts: Readonly<Record<string, { readonly hostDelayMs: number }>>;
    readonly robots: boolean;
  };
  readonly http: {
    readonly userAgent: string;
    readonly allowPrivateAddresses: boolean;
    readonly client: 'got' | 'node';
    readonly timeouts: {
      readonly connectMs: number;
      readonly responseMs: number;
      readonly totalMs: number;
    };
    /** Types that are read, as written; null is all. */
    readonly contentTypes: readonly string[] | null;
    readonly http2: boolean;
    readonly tls: {
      readonly verify: boolean;
      /** Absolute path of a PEM file; null: only the authorities that Node brings. */
      readonly ca: string | null;
    };
    /** An http URL, perhaps with user and password. */
    readonly proxy: string | null;
    readonly cookies: boolean;
    readonly dns: {
      readonly family: 'any' | 'ipv4' | 'ipv6';
      readonly ttlMinMs: number;
      readonly ttlMaxMs: number;
      readonly negativeTtlMs: number;
    };
  };
  readonly cluster: {
    /** A number N stands for a1 to aN on this machine; `resolveAgents` finds their ports. */
    readonly agents: number | readonly AgentEntry[];
    readonly replicas: number;
    readonly backups: number;
    readonly quorum: Quorum;
    readonly failureDetector: { readonly heartbeatMs: number; readonly suspectAfterMs: number };
  };
  readonly agent: {
    readonly threads: number;
    readonly parseWorkers: number;
    /** Absolute. */
    readonly dataDir: string;
  };
  readonly storage: { readonly durability: Durability };
  readonly archive: {
    readonly warc: boolean;
    /** A file of the archive ends with the record that reaches it. */
    readonly fileBytes: number;
    readonly compression: 'gzip' | 'zstd';
    /** 1 to 9, as zlib counts. */
    readonly gzipLevel: number;
    /** 1 to 19, as Zstandard counts. */
    readonly zstdLevel: number;
    readonly links: boolean;
  };
}

/** A place on the ring, before anything is known of ports. */
export interface ConfiguredMember {
  readonly id: string;
  readonly capacity: number;
}

/** @returns identifier and capacity of every configured agent, in the order of the file. */
export function membersOf(config: Pick<Config, 'cluster'>): readonly ConfiguredMember[] {
  const { agents } = config.cluster;
  if (typeof agents !== 'number') return agents.map(({ id, capacity }) => ({ id, capacity }));
  return Array.from({ length: agents }, (_, k) => ({ id: `a${k + 1}`, capacity: 1 }));
}

/**
 * How long an echo entitles to requests: six tenths of `suspectAfterMs`, so that a holder that is
 * cut off stops well before anybody takes over.
 *
 * @returns milliseconds
 */
export function leaseMsOf(config: Pick<Config, 'cluster'>): number {
  return Math.floor((config.cluster.failureDetector.suspectAfterMs * 3) / 5);
}
