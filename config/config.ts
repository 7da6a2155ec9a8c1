// The type of a validated config: every key has a value, durations are milliseconds, sizes are
// bytes, and paths are absolute. Only `load.ts` creates it. Values that follow from the config alone
// are computed here and are not part of the file. The meaning of the keys is in `keys/`.

export interface AgentEntry {
  readonly id: string;
  /** ZeroMQ endpoint to bind, such as `tcp://0.0.0.0:7101`. */
  readonly listen: string;
  /** ZeroMQ endpoint that peers connect to; by default the same as `listen`. */
  readonly address: string;
  readonly capacity: number;
}

export interface Config {
  /** Absolute path of the config file. */
  readonly file: string;
  /** The agent that the command line has added to `cluster.agents`. */
  readonly added?: string;
  /** Whether the command line has named the data directory, so that suggested commands do, too. */
  readonly isDataGiven?: boolean;
  readonly name: string;
  /** All seeds as written: those of the config, then those of each seed file. */
  readonly seeds: readonly string[];
  /** The seeds in the config itself. */
  readonly inlineSeeds: readonly string[];
  /** Absolute paths. */
  readonly seedFiles: readonly string[];
  /** As written. */
  readonly sitemaps: readonly string[];
  readonly scope: {
    /** Serialized patterns; by default the hosts of the seeds. */
    readonly hosts: readonly string[];
    /** Sources of regular expressions, without flags. */
    readonly include: readonly string[];
    readonly exclude: readonly string[];
  };
  readonly urls: {
    /** Parameter names; a name that ends in `*` is a prefix. */
    readonly dropParameters: readonly string[];
    readonly dropTracking: boolean;
    readonly dropSessions: boolean;
  };
  readonly links: { readonly embeds: boolean };
  readonly limits: {
    readonly pagesPerHost: number;
    readonly depthPerHost: number;
    /** For the whole crawl; null: no limit. */
    readonly pages: number | null;
    readonly urlLength: number;
    readonly repeatedSegments: number;
    /** Null: no limit. */
    readonly stalePages: number | null;
    readonly bodyBytes: number;
  };
  readonly politeness: {
    readonly hostDelayMs: number;
    readonly ipDelayMs: number;
    readonly crawlDelayMaxMs: number;
    readonly responseTimeFactor: number;
    /** Keyed by serialized host pattern. */
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
    /** Null: all. */
    readonly contentTypes: readonly string[] | null;
    readonly http2: boolean;
    readonly tls: {
      readonly verify: boolean;
      /** Absolute path of a PEM file with additional authorities; null: only those of Node. */
      readonly ca: string | null;
    };
    /** An http URL, which may contain a user and a password. */
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
    /** Empty if there are only contacts. A number N means a1 to aN on this machine; `resolveAgents` assigns their ports. */
    readonly agents: number | readonly AgentEntry[];
    /** How hosts are placed on agents, and whether each agent knows all others. */
    readonly overlay: 'ring' | 'kademlia';
    readonly kademlia: {
      readonly ids: number;
      readonly bucketSize: number;
      readonly concurrency: number;
      readonly neighbourhood: number;
    };
    /** Endpoints of the overlay kademlia, through which agents find the cluster. */
    readonly contacts: readonly string[];
    /** Unused with the overlay kademlia. */
    readonly replicas: number;
    readonly backups: number;
    readonly quorum: 'none' | 'majority';
    readonly failureDetector: { readonly heartbeatMs: number; readonly suspectAfterMs: number };
  };
  readonly dedup: {
    readonly mode: 'none' | 'redis';
    /** With `redis`, one of `networks`. */
    readonly network: string | null;
    /** Redis URLs without passwords. */
    readonly networks: Readonly<Record<string, string>>;
    readonly onTimeout: 'proceed' | 'wait';
    readonly timeoutMs: number;
    readonly batch: number;
    readonly leaseMs: number;
  };
  readonly agent: {
    readonly threads: number;
    readonly parseWorkers: number;
    /** Absolute path. */
    readonly dataDir: string;
  };
  readonly storage: { readonly durability: 'power' | 'process' };
  readonly archive: {
    readonly warc: boolean;
    /** The record that reaches this size is the last one of its file. */
    readonly fileBytes: number;
    readonly compression: 'gzip' | 'zstd';
    readonly gzipLevel: number;
    readonly zstdLevel: number;
    readonly links: boolean;
  };
  readonly monitor: {
    /** `HOST:PORT`; null: the agent serves nothing. */
    readonly listen: string | null;
    /** Absolute path of a file with tokens; null: there is none. */
    readonly tokens: string | null;
  };
}

/** An agent without its endpoint. */
export interface ConfiguredMember {
  readonly id: string;
  readonly capacity: number;
}

/** @returns the configured agents in the order of the file */
export function membersOf(config: Pick<Config, 'cluster'>): readonly ConfiguredMember[] {
  const { agents } = config.cluster;
  if (typeof agents !== 'number') return agents.map(({ id, capacity }) => ({ id, capacity }));
  return Array.from({ length: agents }, (_, k) => ({ id: `a${k + 1}`, capacity: 1 }));
}

/**
 * Milliseconds for which an echo allows requests: 0.6 of `suspectAfterMs`. An agent that is cut off
 * therefore stops well before another takes over its hosts.
 */
export function leaseMsOf(config: Pick<Config, 'cluster'>): number {
  return Math.floor((config.cluster.failureDetector.suspectAfterMs * 3) / 5);
}
